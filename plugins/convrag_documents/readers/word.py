"""Word files: paragraphs, lists and tables, with headings, and the pages that Word last saw."""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.readers.word_tables import format_word_table
from convrag_documents.unreadable import Unreadable

_LEFT_OUT = {"del", "moveFrom", "Fallback", "pPr", "rPr", "sectPr"}
"""Tracked deletions, the second form of a drawing for old programs, and properties."""

_CONTAINERS = ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
"""Elements that have blocks in them."""

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_PAGE_BREAK = "lastRenderedPageBreak"
_BODY_LEVEL = 9
_TITLE_LEVEL = 0


def read_docx(content: bytes) -> Iterator[Document]:
    """Read a Word file, with its footnotes at the end.

    A paragraph of the style Title is the title.
    """
    archive = Archive(content)
    main = archive.find_main_part("word/document.xml")
    relations = archive.read_relations(main).values()
    members = {kind: name for kind, name in relations if name in archive}
    body = archive.read_xml(main).find("body")
    if body is None:
        raise Unreadable("this is no text of Word")
    builder = TextBuilder()
    levels: dict[str, int] = {}
    if "styles" in members:
        levels = _read_levels(archive.read_xml(members["styles"]))
    has_pages = body.find(f".//{_PAGE_BREAK}") is not None
    _Body(builder, levels, has_pages=has_pages).add(body)
    for kind in ("footnotes", "endnotes"):
        if kind in members:
            _add_notes(builder, archive.read_xml(members[kind]))
    yield builder.build()


def _add_notes(builder: TextBuilder, notes: Element) -> None:
    for note in notes:
        is_separator = note.get("type") is not None  # a line between the text and the notes
        if not is_separator:
            builder.add(_read_text(note))


class _Body:
    """Adds the blocks of a body."""

    def __init__(self, builder: TextBuilder, levels: Mapping[str, int], *, has_pages: bool) -> None:
        self._builder = builder
        self._levels = levels
        self._items: list[str] = []
        """The items of the list that is being read."""
        self._has_pages = has_pages
        if has_pages:
            builder.begin_page()

    def add(self, body: Element) -> None:
        """Add all blocks."""
        waiting = list(reversed(body))
        while waiting:
            block = waiting.pop()
            if block.tag == "p":
                self._add_paragraph(block)
            elif block.tag == "tbl":
                self._add_table(block)
            elif block.tag in _CONTAINERS:
                waiting.extend(reversed(block))
        self._end_list()

    def _add_table(self, table: Element) -> None:
        self._end_list()
        self._builder.add(format_word_table(table, _read_text))
        self._turn_pages(table)

    def _add_paragraph(self, paragraph: Element) -> None:
        level = self._find_level(paragraph)
        is_item = level == _BODY_LEVEL and paragraph.find("pPr/numPr") is not None
        if not is_item:
            self._end_list()
        begins_page = self._has_pages and _begins_page(paragraph)
        if begins_page:
            self._turn_pages(paragraph)
        self._add_text(_read_text(paragraph), level, is_item=is_item)
        if not begins_page:
            self._turn_pages(paragraph)

    def _add_text(self, text: str, level: int, *, is_item: bool) -> None:
        if is_item and text.strip():
            self._items.append(f"- {' '.join(text.split())}")
        elif level == _TITLE_LEVEL and not self._builder.title:
            self._builder.title = text
            self._builder.add(text)
        elif level < _BODY_LEVEL:
            self._builder.add_heading(max(1, level), text)
        else:
            self._builder.add(text)

    def _turn_pages(self, block: Element) -> None:
        """Begin the pages that begin within a block: the text after it is on the last of them."""
        if not self._has_pages:
            return
        breaks = len(block.findall(f".//{_PAGE_BREAK}"))
        if breaks:
            self._end_list()
        for _ in range(breaks):
            self._builder.begin_page()

    def _end_list(self) -> None:
        self._builder.add("\n".join(self._items))
        self._items = []

    def _find_level(self, paragraph: Element) -> int:
        """Find the level of a heading, or that of the body."""
        properties = paragraph.find("pPr")
        if properties is None:
            return _BODY_LEVEL
        own = _read_outline_level(properties)
        if own is not None:
            return own
        style = properties.find("pStyle")
        if style is None:
            return _BODY_LEVEL
        return self._levels.get(style.get("val", ""), _BODY_LEVEL)


def _read_levels(styles: Element) -> dict[str, int]:
    """Read the styles that are headings: id -> level from 1, 0 for the title."""
    levels: dict[str, int] = {}
    parents: dict[str, str] = {}
    for style in styles.iter("style"):
        style_id = style.get("styleId", "")
        parent = style.find("basedOn")
        if parent is not None:
            parents[style_id] = parent.get("val", "")
        level = _read_style_level(style)
        if level is not None:
            levels[style_id] = level
    for style_id in parents:
        _inherit_level(style_id, parents, levels)
    return levels


def _read_style_level(style: Element) -> int | None:
    """Read the level of a style by its name, which Word keeps in English, or its outline."""
    name_element = next(style.iter("name"), None)
    name = "" if name_element is None else name_element.get("val", "").lower()
    if name == "title":
        return _TITLE_LEVEL
    heading, _, number = name.partition(" ")
    if heading == "heading" and number.isdecimal():
        return int(number)
    properties = style.find("pPr")
    return None if properties is None else _read_outline_level(properties)


def _inherit_level(style_id: str, parents: Mapping[str, str], levels: dict[str, int]) -> None:
    """Give a style without a level that of the next style above it, unless that is the title's."""
    seen = {style_id}
    ancestor = parents[style_id]
    while style_id not in levels and ancestor not in seen:
        seen.add(ancestor)
        level = levels.get(ancestor, _TITLE_LEVEL)
        if level != _TITLE_LEVEL:
            levels[style_id] = level
        ancestor = parents.get(ancestor, style_id)


def _read_outline_level(properties: Element) -> int | None:
    level = properties.find("outlineLvl")
    value = "" if level is None else level.get("val", "")
    is_digit = value.isdecimal() and len(value) == 1
    return int(value) + 1 if is_digit else None


def _begins_page(paragraph: Element) -> bool:
    """Whether a page begins before the first word of a paragraph."""
    for element in _walk_tree(paragraph):
        if element.tag == _PAGE_BREAK:
            return True
        if element.tag == "t" and (element.text or "").strip():
            return False
    return False


def _read_text(block: Element) -> str:
    """Return the text of a paragraph, or of several, with a line break between them."""
    pieces = []
    for element in _walk_tree(block):
        if element.tag == "t":
            pieces.append(element.text or "")
        elif element.tag == "p" and pieces:
            pieces.append("\n")
        elif element.tag in _SIGNS:
            pieces.append(_SIGNS[element.tag])
    return "".join(pieces)


def _walk_tree(root: Element) -> Iterator[Element]:
    """Yield an element and those within it, in the order of the text."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag not in _LEFT_OUT:
            yield element
            waiting.extend(reversed(element))
