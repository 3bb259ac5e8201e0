"""HTML: the text of a page with its headings, without navigation, scripts and styles; EPUB:
chapters of a book.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import TYPE_CHECKING

from convrag import Document
from convrag_documents.readers.archive import Archive, resolve_name
from convrag_documents.readers.text import TextBuilder, decode, join_wrapped_lines
from convrag_documents.unreadable import Unreadable

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE
)
_LEFT_OUT = {
    *(
        "head",
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "svg",
        "iframe",
        "object",
        "canvas",
        "audio",
        "video",
    ),
    *("button", "select", "textarea"),
}
_LINES = {"caption", "dd", "dt", "figcaption", "legend", "li", "option", "summary", "tr"}
_BLOCKS = {
    *(
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "details",
        "dialog",
        "div",
        "dl",
        "fieldset",
    ),
    *(
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "hr",
        "html",
        "main",
        "menu",
        "ol",
        "p",
        "pre",
        "section",
    ),
    *("table", "ul"),
}
_TERM, _LONGEST_TERM = ": ", 100
"""Behind a term that stands in one line with its definition ("--help: Print what there is"); its
most characters.
"""
_CELLS = {"td", "th"}
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_PARTS = "table, ul, ol, pre, h1, h2, h3, h4, h5, h6"
"""What makes a cell of a table a part of the page's layout, instead of a value in a line."""
_CODE = re.compile(
    r"code|highlight|listing|literal|screen|source|console|terminal|lang", re.IGNORECASE
)
"""In the class of preformatted text, or of what it stands in: as Sphinx, DocBook and GitHub have
it.
"""


def read_html(content: bytes) -> Iterator[Document]:
    """Read a page; its head has the title."""
    builder = TextBuilder()
    add_html(builder, content)
    yield builder.build()


def add_html(builder: TextBuilder, content: bytes) -> None:
    """Add the text and the headings of a page, and its title where none is known."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_decode_page(content))
    title = tree.css_first("title")
    if title is not None and not builder.title:
        builder.title = title.text()
    if (root := tree.css_first("main") or tree.body) is not None:
        _Walk(builder).walk(root)


def _decode_page(content: bytes) -> str:
    """Decode a page: by its byte order mark, as UTF-8, as it says itself, or as what chardet takes
    it for.
    """
    declared = _DECLARED.search(content[:4096])
    if declared and b"\0" not in content:
        for encoding in ("utf-8", declared[1].decode()):
            try:
                return content.decode(encoding)
            except (UnicodeDecodeError, LookupError):
                continue
    return decode(content)


class _Walk:
    """Goes through a tree without recursion, and adds a block of text where an element ends one."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._line: list[str] = []
        self._block: list[str] = []
        self._preformatted = False
        self._cell: int | None = None  # the cell that is a value: all of it stands in one line

    def walk(self, root: LexborNode) -> None:
        """Add all that stands within an element."""
        node: LexborNode | None = root
        depth = 0
        while node is not None:
            if self._enter(node) and node.first_child is not None:
                node, depth = node.first_child, depth + 1
                continue
            self._leave(node)
            while node is not None and depth and node.next is None:
                node, depth = node.parent, depth - 1
                if node is not None:
                    self._leave(node)
            node = node.next if node is not None and depth else None
        self._end_block()

    def _enter(self, node: LexborNode) -> bool:
        """Take what begins with a node; return whether to go into it."""
        if node.is_text_node:
            self._line.append(node.text_content or "")
            return False
        tag, attributes = node.tag or "", node.attributes
        unread = "hidden" in attributes or attributes.get("role") == "navigation"
        if (
            tag in _LEFT_OUT or unread or attributes.get("class") == "headerlink"
        ):  # Sphinx's link to a heading: "¶"
            return False
        if self._cell is not None:
            self._line.append(" " if tag in _BLOCKS or tag in _LINES or tag == "br" else "")
        elif tag in _CELLS:
            self._line.append(" | " if "".join(self._line).strip() else "")
            self._cell = node.mem_id if node.css_first(_PARTS) is None else None
        elif tag in _LEVELS or tag in _BLOCKS:
            if not (
                tag in ("p", "div")
                and self._line[1:2] == [_TERM]
                and not "".join(self._line[2:]).strip()
            ):
                self._end_block()
            self._preformatted = self._preformatted or tag == "pre"
        elif (
            tag == "dd"
            and self._block
            and _follows_term(node)
            and len(self._block[-1]) <= _LONGEST_TERM
        ):
            self._line = [self._block.pop().removesuffix(":"), _TERM]
        elif tag in _LINES or tag == "br":
            self._end_line()
            self._line.append("- " if tag == "li" else "")
        return True

    def _leave(self, node: LexborNode) -> None:
        """Take what ends with a node."""
        tag = node.tag or ""
        if self._cell is not None:
            self._cell = None if node.mem_id == self._cell else self._cell
        elif tag in _LEVELS:
            self._end_line()
            self._builder.add_heading(_LEVELS[tag], " ".join(self._block))
            self._block = []
        elif tag in _BLOCKS:
            self._end_block(fenced=tag == "pre" and _is_code(node))
            self._preformatted = self._preformatted and tag != "pre"
        elif tag in _LINES:
            self._end_line()

    def _end_line(self) -> None:
        text = "".join(self._line)
        line = text.strip("\n") if self._preformatted else " ".join(text.split())
        if line.strip(" |-"):
            self._block.append(line)
        self._line = []

    def _end_block(self, *, fenced: bool = False) -> None:
        self._end_line()
        if fenced and self._block:
            self._block = ["```", *self._block, "```"]
        self._builder.add("\n".join(self._block))
        self._block = []


def _is_code(node: LexborNode) -> bool:
    """Whether preformatted text is code, and not the prose of a page that was typed."""
    names = [each.attributes.get("class") for each in (node, node.parent) if each is not None]
    return node.css_first("code") is not None or _CODE.search(f"{names}") is not None


def _follows_term(node: LexborNode) -> bool:
    while (before := node.prev) is not None and before.is_text_node:
        node = before
    return before is not None and before.tag == "dt"


_CONTAINER = "META-INF/container.xml"
_ENCRYPTED = "META-INF/encryption.xml"
_PAGE_TYPES = {"application/xhtml+xml", "text/html"}
_CLOSED = re.compile(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>"
)
"""An element that XML closes at once. HTML knows no such thing: the text after <title/> would be
the title.
"""


def read_epub(content: bytes) -> Iterator[Document]:
    """Read a book; its description has the title."""
    archive = Archive(content)
    package = next(
        (each.get("full-path", "") for each in archive.read_xml(_CONTAINER).iter("rootfile")), ""
    )
    book = archive.read_xml(package)
    folder = posixpath.dirname(package)
    items = {each.get("id"): each for each in book.iter("item")}
    encrypted = set()
    if _ENCRYPTED in archive:
        encrypted = {
            each.get("URI", "") for each in archive.read_xml(_ENCRYPTED).iter("CipherReference")
        }
    builder = TextBuilder()
    builder.title = next((each.text or "" for each in book.iter("title")), "")
    for entry in book.iter("itemref"):
        item = items.get(entry.get("idref"))
        if item is None or item.get("media-type") not in _PAGE_TYPES:
            continue
        name = resolve_name(folder, item.get("href", ""))
        if name in encrypted:
            raise Unreadable("it is protected against copying (DRM)")
        add_html(builder, _CLOSED.sub(rb"<\1\2></\1>", archive.read(name)))
    yield builder.build()


def read_mail(content: bytes) -> Iterator[Document]:
    """Read a mail: its subject is the title; what is attached is not read, and said."""
    message = message_from_bytes(content, policy=policy.default)
    builder = TextBuilder()
    builder.title = str(message["subject"] or "")
    builder.add(
        "\n".join(
            f"{name}: {message[name]}"
            for name in ("From", "To", "Date", "Subject")
            if message[name]
        )
    )
    if body := message.get_body(("plain", "html")):
        text = body.get_content()
        is_page = body.get_content_subtype() == "html"
        document = (
            next(read_html(text.encode())) if is_page else Document("", join_wrapped_lines(text))
        )
        builder.add(document.text, document.headings)
    yield builder.build()
    if attached := [
        part.get_filename() or part.get_content_type() for part in message.iter_attachments()
    ]:
        raise Unreadable(f"what is attached is not read: {', '.join(attached)}")
