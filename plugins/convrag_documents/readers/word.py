"""Word files: paragraphs, lists and tables, with headings, and the pages that Word last saw.

Text boxes are read where they are anchored; footnotes and endnotes follow the paragraph that refers
to them.
"""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.formulas import format_formula
from convrag_documents.readers.raised_text import Position, join_runs, mark_reading
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.readers.word_tables import format_word_table

_LEFT_OUT = {"del", "moveFrom", "pPr", "rPr", "sectPr"}
"""Tracked deletions, and properties."""

_CONTAINERS = (
    *("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"),
    *("AlternateContent", "Choice", "Fallback"),
)
"""Elements that have blocks in them."""

_SIGNS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_POSITIONS: dict[str, Position] = {"superscript": "super", "subscript": "sub"}
_BOX = "txbxContent"
_NOTES = {"footnotes": "footnoteReference", "endnotes": "endnoteReference"}
"""The parts of a file that have its notes, and the elements that refer to them."""

_PAGE_BREAK = "lastRenderedPageBreak"
_BODY_LEVEL = 9
_TITLE_LEVEL = 0
_MOST_ANCESTORS = 50
"""Styles above a style that are looked at; Word itself allows ten."""


def read_docx(content: bytes) -> Iterator[Document]:
    """Read a Word file. A paragraph of the style Title is the title."""
    archive = Archive(content)
    main = archive.find_main_part("word/document.xml")
    relations = archive.read_relations(main).values()
    members = {kind: name for kind, name in relations if name in archive}
    document = archive.read_xml(main)
    body = document.find("body")
    if body is None:
        raise Unreadable("this is no text of Word")
    builder = TextBuilder()
    levels: dict[str, int] = {}
    positions: dict[str, str] = {}
    if "styles" in members:
        styles = archive.read_xml(members["styles"])
        levels = _read_levels(styles)
        positions = _read_style_positions(styles)
    notes: dict[tuple[str, str], Element] = {}
    for kind, reference in _NOTES.items():
        if kind in members:
            part = archive.read_xml(members[kind])
            notes |= _list_notes(part, reference)
    for root in (body, *notes.values()):
        _apply_styles(root, positions)
    has_pages = body.find(f".//{_PAGE_BREAK}") is not None
    reader = _Body(builder, levels, notes, has_pages=has_pages)
    reader.add(body)
    reader.add_other_notes()
    yield builder.build()


def _list_notes(part: Element, reference: str) -> dict[tuple[str, str], Element]:
    """List notes: (the element that refers to them, id) -> note."""
    notes = {}
    for number, note in enumerate(part):
        is_separator = note.get("type") is not None  # a line between the text and the notes
        if not is_separator:
            notes[reference, note.get("id", f"without id {number}")] = note
    return notes


class _Body:
    """Adds the blocks of a body.

    Args:
        builder: of the document.
        levels: of the styles that are headings.
        notes: (the element that refers to a note, id) -> note.
        has_pages: whether Word saved where pages begin.
    """

    def __init__(
        self,
        builder: TextBuilder,
        levels: Mapping[str, int],
        notes: dict[tuple[str, str], Element],
        *,
        has_pages: bool,
    ) -> None:
        self._builder = builder
        self._levels = levels
        self._notes = notes
        """The notes that were not added yet."""
        self._noted: list[Element] = []
        """The notes that follow the block or the list that is being read."""
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
            if block.tag in ("p", "oMathPara"):
                self._add_paragraph(block)
            elif block.tag == "tbl":
                self._add_table(block)
            elif block.tag in _CONTAINERS:
                waiting.extend(reversed(block))
        self._end_list()

    def _add_table(self, table: Element) -> None:
        self._end_list()
        self._builder.add(format_word_table(table, _read_text))
        self._note(table)
        self._turn_pages(table)

    def _add_paragraph(self, paragraph: Element) -> None:
        level = self._find_level(paragraph)
        is_item = level == _BODY_LEVEL and paragraph.find("pPr/numPr") is not None
        if not is_item:
            self._end_list()
        begins_page = self._has_pages and _begins_page(paragraph)
        if begins_page:
            self._turn_pages(paragraph)
        for part in _read_parts(paragraph, boxes=True):
            if isinstance(part, str):
                self._add_text(part, level, is_item=is_item)
            else:
                self.add(part)
        self._note(paragraph)
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

    def add_other_notes(self) -> None:
        """Add the notes that no paragraph refers to."""
        self._noted += self._notes.values()
        self._notes.clear()
        self._end_list()

    def _note(self, block: Element) -> None:
        """Find the notes that a block refers to."""
        for element in _walk_tree(block):
            if element.tag in _NOTES.values():
                note = self._notes.pop((element.tag, element.get("id", "")), None)
                if note is not None:
                    self._noted.append(note)

    def _end_list(self) -> None:
        self._builder.add("\n".join(self._items))
        self._items = []
        for note in self._noted:
            self._builder.add(_read_text(note))
        self._noted = []

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
    while style_id not in levels and ancestor not in seen and len(seen) < _MOST_ANCESTORS:
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


def _read_style_positions(styles: Element) -> dict[str, str]:
    """Read the styles of letters that are above or below the line: id -> position."""
    positions = {}
    for style in styles.iter("style"):
        position = style.find("rPr/vertAlign")
        if position is not None and style.get("type") == "character":
            positions[style.get("styleId", "")] = position.get("val", "")
    return positions


def _apply_styles(root: Element, positions: Mapping[str, str]) -> None:
    """Give the runs of these styles their position, as if each had it itself."""
    for properties in root.iter("rPr"):
        style = properties.find("rStyle")
        own = properties.find("vertAlign")
        position = "" if style is None else positions.get(style.get("val", ""), "")
        if position and own is None:
            SubElement(properties, "vertAlign", {"val": position})


def _read_text(block: Element) -> str:
    """Return the text of a paragraph, or of several, with a line break between them."""
    return "".join(part for part in _read_parts(block) if isinstance(part, str))


def _read_parts(block: Element, *, boxes: bool = False) -> list[str | Element]:
    """Return the text of a paragraph, or of several, with a line break between them.

    Args:
        block: the paragraph, or an element with several.
        boxes: whether text boxes are elements of their own, between the texts before and after.
    """
    parts: list[str | Element] = []
    runs: list[tuple[str, Position]] = []
    position: Position = ""
    waiting: list[Element | Position] = [block]
    while waiting:
        element = waiting.pop()
        if isinstance(element, str):  # a run ends
            position = element
        elif element.tag == "t":
            runs.append((element.text or "", position))
        elif element.tag in _SIGNS:
            runs.append((_SIGNS[element.tag], ""))
        elif element.tag == "oMath":
            runs.append((format_formula(element), ""))
        elif element.tag == "ruby":
            runs.append((_read_ruby(element), ""))
        elif element.tag == _BOX and boxes:
            parts += [join_runs(runs), element]
            runs = []
        elif element.tag not in _LEFT_OUT:
            if element.tag in ("p", _BOX) and runs:
                runs.append(("\n", ""))
            if element.tag == "r":
                waiting.append(position)
                position = _find_position(element)
            if element.tag == _BOX:
                waiting.append(Element("br"))
            waiting.extend(reversed(element))
    return [*parts, join_runs(runs)]


def _find_position(run: Element) -> Position:
    alignment = run.find("rPr/vertAlign")
    return "" if alignment is None else _POSITIONS.get(alignment.get("val", ""), "")


def _read_ruby(ruby: Element) -> str:
    """Return characters, and their reading marked after them."""
    base = "".join(_read_text(each) for each in ruby.findall("rubyBase"))
    reading = "".join(_read_text(each) for each in ruby.findall("rt"))
    return base + mark_reading(reading)


def _walk_tree(root: Element) -> Iterator[Element]:
    """Yield an element and those within it, in the order of the text."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag not in _LEFT_OUT:
            yield element
            waiting.extend(reversed(element))
