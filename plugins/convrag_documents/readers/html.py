"""HTML: the text of a page with its headings, without navigation, scripts and styles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from convrag import Document
from convrag.sdk.text.encodings import decode_page
from convrag.sdk.text.html_bounds import check_bounds
from convrag_documents.readers.formulas import format_formula
from convrag_documents.readers.html_tables import LAYOUT_PARTS, is_data_table, read_table
from convrag_documents.readers.raised_text import (
    lower_text,
    mark_reading,
    place_readings,
    raise_text,
)
from convrag_documents.readers.tables import CELL_BORDER, format_table
from convrag_documents.readers.text_builder import TextBuilder

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


_NAMES_LEFT_OUT = """
    head script style template noscript nav svg iframe object canvas audio video
    button select textarea rp
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
_RAISED = frozenset(["sup", "sub", "rt", "rtc"])
"""Text above and below the line, and the readings of characters."""

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

_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_PERMALINK = "headerlink"
"""The class of Sphinx's links to headings ("¶")."""

_FENCES = ("open", "close")
"""Attributes of `mfenced` that a formula keeps."""

_LEVELS_OF_FORMULA = 4
"""Elements that are opened to find MathML."""

_PIECES_BEFORE = 3
"""Pieces of the line before a raised text that are looked at."""

_MOST_INNER_PAGES = 100
"""Pages within a page that are read, such as the frames of a preview."""


def read_html(content: bytes) -> Iterator[Document]:
    """Read a page; its head has the title."""
    builder = TextBuilder()
    add_html(builder, content)
    yield builder.build()


def add_html(builder: TextBuilder, content: bytes) -> None:
    """Add the text and the headings of a page, and its title if the document has none yet."""
    check_bounds(content)
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(decode_page(content))
    if not builder.title:
        builder.title = _find_title(tree)
    for root in _list_main_parts(tree):
        _PageText(builder).add(root)
    if not builder and tree.body is not None:
        _PageText(builder, scripted=False).add(tree.body)


def _find_title(tree: LexborHTMLParser) -> str:
    """Find the title of the page, which is not that of a picture within it (SVG)."""
    for title in tree.css("title"):
        if not _is_within(title, "svg"):
            text: str = title.text()
            return text
    return ""


def _list_main_parts(tree: LexborHTMLParser) -> Sequence[LexborNode]:
    """List the main parts of a page that are shown and have text, or the whole body."""
    parts = []
    for main in tree.css("main"):
        is_shown = not _is_hidden(main) and not _is_within(main, "main")
        if is_shown and main.text().strip():
            parts.append(main)
    body = tree.body
    return parts or ([] if body is None else [body])


def _is_within(node: LexborNode, name: str) -> bool:
    """Whether a node is within an element of a name."""
    above = node.parent
    while above is not None and above.tag != name:
        above = above.parent
    return above is not None


def format_data_table(html: str) -> str:
    """Write a table of HTML within another format; empty if it is not one of data."""
    from selectolax.lexbor import LexborHTMLParser

    table = LexborHTMLParser(html).css_first("table")
    if table is None or not is_data_table(table):
        return ""
    builder = TextBuilder()
    _PageText(builder).add(table)
    return builder.build().text


class _PageText:
    """Goes through the elements of a page, and adds a block of text where one ends.

    Args:
        builder: to add the blocks to.
        depth: the number of tables around the elements.
        scripted: whether the page is as a browser with scripts shows it, without `noscript`.
    """

    def __init__(self, builder: TextBuilder, depth: int = 0, *, scripted: bool = True) -> None:
        self._builder = builder
        self._scripted = scripted
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
        self._heading: int | None = None
        """The heading that is being read, if one is: all of it is in one line."""
        self._raised: list[int] = []
        """For each raised text that is being read, the piece of the line that begins it."""
        self._inner_pages: list[LexborHTMLParser] = []
        """Pages within the page, which must live as long as their nodes are read."""

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
            elif _holds_page(node):
                waiting += [(child, False) for child in reversed(self._open_page(node))]

    def _open_page(self, node: LexborNode) -> list[LexborNode]:
        """Parse the page within an inline frame, or the shadow tree of an element."""
        from selectolax.lexbor import LexborHTMLParser

        if len(self._inner_pages) == _MOST_INNER_PAGES:
            return []
        if node.tag == "iframe":
            text = node.attributes.get("srcdoc") or ""
        else:
            text = (node.html or "").partition(">")[2]
        check_bounds(text.encode())
        page = LexborHTMLParser(text)
        self._inner_pages.append(page)
        return [] if page.body is None else [page.body]

    def _enter(self, node: LexborNode) -> bool:
        """Read the beginning of a node, and return whether to read what is in it."""
        if node.is_text_node:
            self._line.append(node.text_content or "")
            return False
        tag = node.tag or ""
        if tag == "table":
            self._layout_depth += 1
        if tag == "math":
            self._line.append(format_formula(_copy_formula(node)))
            return False
        is_alternative = tag == "noscript" and not self._scripted
        if _is_left_out(node) and not is_alternative:
            return False
        if tag == "table" and self._add_data_table(node):
            return False
        if tag in _RAISED:
            self._raised.append(len(self._line))
        elif self._heading is not None:
            if tag in _BLOCKS or tag in _LINES or tag in _LEVELS or tag == "br":
                self._line.append(" ")
        elif self._cell is not None:
            if tag in _BLOCKS or tag in _LINES or tag in _CELLS or tag == "br":
                self._line.append(" ")
        elif tag in _CELLS:
            self._begin_cell(node)
        elif tag in _LEVELS or tag in _BLOCKS:
            self._begin_block(tag)
            if tag in _LEVELS:
                self._heading = node.mem_id
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
        if tag in _RAISED and self._raised:
            self._end_raised(tag, self._raised.pop())
        elif self._cell is not None:
            if node.mem_id == self._cell:
                self._cell = None
        elif self._heading is not None and node.mem_id != self._heading:
            if tag in _BLOCKS or tag in _LINES or tag in _LEVELS:
                self._line.append(" ")
        elif tag in _LEVELS:
            self._heading = None
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

    def _end_raised(self, tag: str, start: int) -> None:
        """Write what was read since a piece of the line above or below the line."""
        if start > len(self._line):  # a block within it has ended the line
            return
        text = "".join(self._line[start:])
        before = "".join(self._line[max(0, start - _PIECES_BEFORE) : start])
        del self._line[start:]
        if tag == "sup":
            self._line.append(raise_text(text, before))
        elif tag == "sub":
            self._line.append(lower_text(text, before))
        else:
            self._line.append(mark_reading(text))

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
        page = _PageText(TextBuilder(), self._depth + 1, scripted=self._scripted)
        page._cell = node.mem_id
        page._read(node)
        return place_readings("".join(page._line)), tuple(page._tables)

    def _begin_cell(self, node: LexborNode) -> None:
        if any(map(str.strip, self._line)):  # it stops at the first piece with text
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
        text = place_readings("".join(self._line))
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


def _copy_formula(formula: LexborNode) -> Element:
    """Copy a formula into an element of its own."""
    root = Element("math")
    waiting = [(formula, root)]
    while waiting:
        node, copy = waiting.pop()
        for child in _list_children(node):
            if child.is_text_node:
                text = child.text(deep=False)
                if len(copy):
                    copy[-1].tail = text
                else:
                    copy.text = text
            elif child.is_element_node:
                tag = child.tag or ""
                attributes = child.attributes
                signs = {name: attributes[name] or "" for name in _FENCES if name in attributes}
                waiting.append((child, SubElement(copy, tag, signs)))
    return root


def _holds_page(node: LexborNode) -> bool:
    """Whether a node holds a page of its own: a frame with its text, or a shadow tree."""
    if node.tag == "iframe":
        return "srcdoc" in node.attributes
    return node.tag == "template" and "shadowrootmode" in node.attributes


def _is_left_out(node: LexborNode) -> bool:
    if node.tag in _LEFT_OUT:
        return True
    attributes = node.attributes
    if attributes.get("role") == "navigation" or _is_hidden(node):
        return True
    classes = (attributes.get("class") or "").split()
    return _PERMALINK in classes or _is_sign_of_link(node) or _repeats_formula(node)


def _is_hidden(node: LexborNode) -> bool:
    """Whether an element is hidden for good: not a tab, and not a formula for those who listen."""
    attributes = node.attributes
    is_hidden = "hidden" in attributes and attributes["hidden"] != "until-found"
    style = attributes.get("style")
    if style and _NOT_SHOWN.search(style):
        is_hidden = True
    if not is_hidden or attributes.get("role") == "tabpanel":
        return False
    return node.css_first("math") is None


def _is_sign_of_link(node: LexborNode) -> bool:
    """Whether an element is a link within the page whose text is a sign alone ("¶", "#")."""
    if node.tag != "a" or not (node.attributes.get("href") or "").startswith("#"):
        return False
    return not any(letter.isalnum() for letter in node.text())


def _repeats_formula(node: LexborNode) -> bool:
    """Whether an element shows for the eye what MathML next to it says (KaTeX, MathJax)."""
    if node.attributes.get("aria-hidden") != "true":
        return False
    return _begins_with_formula(node.prev) or _begins_with_formula(node.next)


def _begins_with_formula(node: LexborNode | None) -> bool:
    """Whether an element is MathML, or begins with it."""
    for _ in range(_LEVELS_OF_FORMULA):
        if node is None or node.tag == "math":
            break
        node = node.first_child
    return node is not None and node.tag == "math"


def _is_code(preformatted: LexborNode) -> bool:
    """Whether preformatted text is code, and not the prose of a page that was typed."""
    if preformatted.css_first("code") is not None:
        return True
    for node in (preformatted, preformatted.parent):
        if node is not None and _CODE.search(node.attributes.get("class") or ""):
            return True
    return False
