"""HTML: the text of a page with its headings, without navigation, scripts and styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from convrag import Document
from convrag_documents.readers.encoding import decode
from convrag_documents.readers.html_tables import LAYOUT_PARTS, is_data_table, read_table
from convrag_documents.readers.tables import CELL_BORDER, format_table
from convrag_documents.readers.text_builder import TextBuilder

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 4096
"""Bytes at the beginning of a page in which it may declare its encoding."""

_NAMES_LEFT_OUT = """
    head script style template noscript nav svg iframe object canvas audio video
    button select textarea
"""
_NAMES_OF_LINES = "caption dd dt figcaption legend li option summary tr"
_NAMES_OF_BLOCKS = """
    address article aside blockquote body center details dialog div dl fieldset figure footer
    form header hgroup hr html main menu ol p pre section table ul
"""
_LEFT_OUT = frozenset(_NAMES_LEFT_OUT.split())
_LINES = frozenset(_NAMES_OF_LINES.split())
_BLOCKS = frozenset(_NAMES_OF_BLOCKS.split())
_CELLS = frozenset(["td", "th"])
_LEVELS = {f"h{level}": level for level in range(1, 7)}

_TERM_END = ": "
"""The text between a term and its definition, in one line: "--help: Print what there is"."""

_LONGEST_TERM = 100
_DEEPEST_TABLE = 10
"""Tables within each other; those further down are text of the cell around them."""

_DEEPEST_LAYOUT = 30
"""Tables of the layout within each other; those further down are not looked at for data."""

_CODE = re.compile(
    r"code|highlight|listing|literal|screen|source|console|terminal|lang", re.IGNORECASE
)
"""Words in the class of code, or of the element around it, in Sphinx, DocBook and GitHub."""


def read_html(content: bytes) -> Iterator[Document]:
    """Read a page; its head has the title."""
    builder = TextBuilder()
    add_html(builder, content)
    yield builder.build()


def add_html(builder: TextBuilder, content: bytes) -> None:
    """Add the text and the headings of a page, and its title if the document has none yet."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_decode_page(content))
    title = tree.css_first("title")
    if title is not None and not builder.title:
        builder.title = title.text()
    root = tree.css_first("main") or tree.body
    if root is not None:
        _PageText(builder).add(root)


def format_data_table(html: str) -> str:
    """Write a table of HTML within another format; empty if it is not one of data."""
    from selectolax.lexbor import LexborHTMLParser

    table = LexborHTMLParser(html).css_first("table")
    if table is None or not is_data_table(table):
        return ""
    builder = TextBuilder()
    _PageText(builder).add(table)
    return builder.build().text


def _decode_page(content: bytes) -> str:
    """Decode a page as UTF-8, in the encoding that it declares, or as any other text."""
    declared = _DECLARED.search(content[:_DECLARED_WITHIN])
    if declared and b"\0" not in content:
        for encoding in ("utf-8", declared[1].decode()):
            try:
                return content.decode(encoding)
            except (UnicodeDecodeError, LookupError):
                continue
    return decode(content)


class _PageText:
    """Goes through the elements of a page, and adds a block of text where one ends.

    Args:
        builder: to add the blocks to.
        depth: the number of tables around the elements.
    """

    def __init__(self, builder: TextBuilder, depth: int = 0) -> None:
        self._builder = builder
        self._depth = depth
        self._layout_depth = 0
        """The number of tables of the layout around the element that is being read."""
        self._tables: list[str] = []
        """The lines of the tables in the cell that is being read."""
        self._line: list[str] = []
        """The pieces of the line that is being read."""
        self._block: list[str] = []
        """The lines of the block that is being read."""
        self._is_preformatted = False
        self._cell: int | None = None
        """The cell that is a value, if one is being read: all of it is in one line."""
        self._term = ""
        """The term that begins the line, before its definition; empty if none does."""

    def add(self, root: LexborNode) -> None:
        """Add all that is within an element."""
        self._read(root)
        self._end_block()

    def _read(self, root: LexborNode) -> None:
        """Read all that is within an element. No recursion: pages may nest thousands deep."""
        waiting = [(root, False)]
        while waiting:
            node, is_end = waiting.pop()
            if is_end:
                self._leave(node)
                continue
            waiting.append((node, True))
            if self._enter(node):
                waiting += [(child, False) for child in reversed(_list_children(node))]

    def _enter(self, node: LexborNode) -> bool:
        """Read the beginning of a node, and return whether to read what is in it."""
        if node.is_text_node:
            self._line.append(node.text_content or "")
            return False
        tag = node.tag or ""
        if tag == "table":
            self._layout_depth += 1
        if _is_left_out(node):
            return False
        if tag == "table" and self._add_data_table(node):
            return False
        if self._cell is not None:
            if tag in _BLOCKS or tag in _LINES or tag in _CELLS or tag == "br":
                self._line.append(" ")
        elif tag in _CELLS:
            self._begin_cell(node)
        elif tag in _LEVELS or tag in _BLOCKS:
            self._begin_block(tag)
        elif tag == "dd" and self._follows_short_term(node):
            self._term = self._block.pop().removesuffix(":") + _TERM_END
            self._line = [self._term]
        elif tag in _LINES or tag == "br":
            self._end_line()
            if tag == "li":
                self._line.append("- ")
        return True

    def _leave(self, node: LexborNode) -> None:
        """Read the end of a node."""
        tag = node.tag or ""
        if tag == "table":
            self._layout_depth -= 1
        if self._cell is not None:
            if node.mem_id == self._cell:
                self._cell = None
        elif tag in _LEVELS:
            self._end_line()
            self._builder.add_heading(_LEVELS[tag], " ".join(self._block))
            self._block = []
        elif tag == "pre":
            self._end_block(fenced=_is_code(node))
            self._is_preformatted = False
        elif tag in _BLOCKS:
            self._end_block()
        elif tag in _LINES:
            self._end_line()

    def _add_data_table(self, node: LexborNode) -> bool:
        """Add a table, unless it is a part of the page's layout, and return whether it was one."""
        if self._depth >= _DEEPEST_TABLE or self._layout_depth > _DEEPEST_LAYOUT:
            return False
        if not is_data_table(node):
            return False
        table = read_table(node, self._read_cell)
        text = format_table(table.rows, table.caption)
        if self._cell is not None:
            self._line.append(" ")
            self._tables += text.splitlines()
        else:
            self._end_block()
            self._builder.add(text)
        return True

    def _read_cell(self, node: LexborNode) -> tuple[str, tuple[str, ...]]:
        """Read the text of a cell, or of a caption, and the tables in it, as lines."""
        page = _PageText(TextBuilder(), self._depth + 1)
        page._cell = node.mem_id
        page._read(node)
        return "".join(page._line), tuple(page._tables)

    def _begin_cell(self, node: LexborNode) -> None:
        if "".join(self._line).strip():
            self._line.append(CELL_BORDER)
        is_value = node.css_first(LAYOUT_PARTS) is None
        self._cell = node.mem_id if is_value else None

    def _begin_block(self, tag: str) -> None:
        is_definition = tag in ("p", "div") and self._term and self._has_term_alone()
        if not is_definition:
            self._end_block()
        if tag == "pre":
            self._is_preformatted = True

    def _follows_short_term(self, definition: LexborNode) -> bool:
        """Whether a definition can continue the line of the term before it."""
        has_text_between = "".join(self._line).strip() != ""
        if has_text_between:
            return False
        if not self._block or len(self._block[-1]) > _LONGEST_TERM:
            return False
        before = definition.prev
        while before is not None and before.is_text_node:
            before = before.prev
        return before is not None and before.tag == "dt"

    def _has_term_alone(self) -> bool:
        """Whether the line has nothing after its term yet."""
        return not "".join(self._line).removeprefix(self._term).strip()

    def _end_line(self) -> None:
        text = "".join(self._line)
        line = text.strip("\n") if self._is_preformatted else " ".join(text.split())
        has_text = line.strip(" |-") != ""
        if has_text:
            self._block.append(line)
        self._line = []
        self._term = ""

    def _end_block(self, *, fenced: bool = False) -> None:
        self._end_line()
        if fenced and self._block:
            self._block = ["```", *self._block, "```"]
        self._builder.add("\n".join(self._block))
        self._block = []


def _list_children(node: LexborNode) -> list[LexborNode]:
    children = []
    child = node.first_child
    while child is not None:
        children.append(child)
        child = child.next
    return children


def _is_left_out(node: LexborNode) -> bool:
    if node.tag in _LEFT_OUT:
        return True
    attributes = node.attributes
    is_hidden = "hidden" in attributes or attributes.get("role") == "navigation"
    is_link_to_heading = attributes.get("class") == "headerlink"  # Sphinx's "¶"
    return is_hidden or is_link_to_heading


def _is_code(preformatted: LexborNode) -> bool:
    """Whether preformatted text is code, and not the prose of a page that was typed."""
    if preformatted.css_first("code") is not None:
        return True
    for node in (preformatted, preformatted.parent):
        if node is not None and _CODE.search(node.attributes.get("class") or ""):
            return True
    return False
