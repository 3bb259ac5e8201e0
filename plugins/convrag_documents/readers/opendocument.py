"""OpenDocument texts (LibreOffice): headings, paragraphs, lists and tables.

Text boxes are read where they are anchored; notes follow the paragraph that refers to them.
"""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.archive import Archive, resolve_name
from convrag_documents.readers.formulas import format_formula
from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.raised_text import Position, join_runs, mark_reading
from convrag_documents.readers.tables import format_table, write_rows
from convrag_documents.readers.text_builder import TextBuilder

_SIGNS = {"s": " ", "tab": " ", "line-break": "\n"}
_LEFT_OUT = {"annotation", "tracked-changes", "note", "title", "desc"}
"""Comments, deletions, notes (which follow their block), and the names of pictures."""

_BLOCKS = {"p", "h", "list", "table"}
_POSITION = "position"
"""The attribute in which a run has its position, as one of `Position`."""

_POSITIONS: dict[str, Position] = {"super": "super", "sub": "sub"}
_HIGHEST = 1
_LOWEST = 9
"""Levels of headings."""
_ROW_GROUPS = {"table-header-rows", "table-rows", "table-row-group"}
_DEEPEST = 10
"""Tables within each other; the text of those further down belongs to the cell around them."""

_MOST_DIGITS = 7
"""Digits from which a number of spanned cells is damaged."""


def read_odt(content: bytes) -> Iterator[Document]:
    """Read a text in the order of its blocks."""
    archive = Archive(content)
    root = archive.read_xml("content.xml")
    body = root.find("./body/text")
    if body is None:
        raise Unreadable("this is no OpenDocument text")
    positions: dict[str, Position] = {}
    if "styles.xml" in archive:
        positions |= _read_positions(archive.read_xml("styles.xml"))
    positions |= _read_positions(root)
    _apply_styles(body, positions)
    _insert_formulas(body, archive)
    builder = TextBuilder()
    reader = _Body(builder)
    reader.add(body)
    reader.end_list()
    yield builder.build()


def _read_positions(root: Element) -> dict[str, Position]:
    """Read the styles of letters that are above or below the line: name -> position."""
    positions: dict[str, Position] = {}
    for style in root.iter("style"):
        properties = style.find("text-properties")
        value = "" if properties is None else properties.get("text-position", "")
        shift = value.split(" ")[0]
        if shift == "super" or (shift.endswith("%") and shift.strip("0%") and shift[0] != "-"):
            positions[style.get("name", "")] = "super"
        elif shift == "sub" or shift.startswith("-"):
            positions[style.get("name", "")] = "sub"
    return positions


def _apply_styles(body: Element, positions: Mapping[str, Position]) -> None:
    """Give the runs of these styles their position."""
    for span in body.iter("span"):
        position = positions.get(span.get("style-name", ""))
        if position:
            span.set(_POSITION, position)


def _insert_formulas(body: Element, archive: Archive) -> None:
    """Write the formulas of a text, which are members of their own, where they are shown."""
    for shown in body.iter("object"):
        formula = shown.find("math")
        member = resolve_name("", f"{shown.get('href', '')}/content.xml")
        if formula is None and member in archive:
            root = archive.read_xml(member)
            formula = root if root.tag == "math" else None
        if formula is not None:
            shown.text = format_formula(formula)
            shown[:] = []


class _Body:
    """Adds the blocks of a text."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._items: list[str] = []
        """The items of the list that is being read."""
        self._notes: list[Element] = []
        """The notes that follow the block or the list that is being read."""

    def add(self, body: Element) -> None:
        """Add all blocks."""
        waiting = [(block, "") for block in reversed(body)]
        while waiting:
            block, mark = waiting.pop()
            if block.tag == "h":
                self._add_heading(block)
            elif block.tag == "p":
                self._add_paragraph(block, mark)
            elif block.tag == "table":
                self.end_list()
                self._builder.add(format_table(_read_rows(block, depth=1)))
                self._note(block)
            elif block.tag in ("list-item", "list-header"):
                marks = ["- ", *["  "] * len(block)]
                waiting.extend(reversed(list(zip(block, marks, strict=False))))
            elif block.tag not in _SIGNS and block.tag not in _LEFT_OUT:
                waiting.extend((child, mark) for child in reversed(block))

    def end_list(self) -> None:
        """Add the items that were read as a list, and the notes."""
        self._builder.add("\n".join(self._items))
        self._items = []
        notes = self._notes
        self._notes = []
        for note in notes:
            self._builder.add(_read_text(note))

    def _add_heading(self, heading: Element) -> None:
        self.end_list()
        level = heading.get("outline-level", "")
        number = int(level) if level.isdecimal() and len(level) == 1 else _HIGHEST
        for part in _read_parts(heading, boxes=True):
            if isinstance(part, str):
                self._builder.add_heading(min(max(number, _HIGHEST), _LOWEST), part)
            else:
                self.add(part)
        self._note(heading)

    def _add_paragraph(self, paragraph: Element, mark: str) -> None:
        """Add a paragraph; with the mark of an item, it is part of a list."""
        if not mark:
            self.end_list()
        for part in _read_parts(paragraph, boxes=True):
            if not isinstance(part, str):
                self.end_list()
                self.add(part)
            elif mark and part.strip():
                self._items.append(f"{mark}{' '.join(part.split())}")
            elif not mark:
                self._builder.add(part)
        self._note(paragraph)

    def _note(self, block: Element) -> None:
        """Find the notes that a block refers to."""
        for note in block.iter("note"):
            self._notes += note.findall("note-body")


def _read_rows(table: Element, depth: int) -> Iterator[list[Cell]]:
    """Yield the rows of a table; those that it repeats, once."""
    waiting = [(child, False) for child in reversed(table)]
    while waiting:
        element, is_heading = waiting.pop()
        if element.tag == "table-row":
            yield [
                _read_cell(cell, depth, is_heading=is_heading)
                for cell in element
                if cell.tag == "table-cell"  # the others are covered by a merged cell
            ]
        elif element.tag in _ROW_GROUPS:
            is_head = is_heading or element.tag == "table-header-rows"
            waiting.extend((child, is_head) for child in reversed(element))


def _read_cell(cell: Element, depth: int, *, is_heading: bool) -> Cell:
    """Read a cell: its paragraphs, also those in lists, and the tables in it."""
    texts = []
    tables: list[str] = []
    waiting = list(reversed(cell))
    while waiting:
        block = waiting.pop()
        if block.tag in ("p", "h"):
            texts.append(_read_text(block))
        elif block.tag == "table" and depth < _DEEPEST:
            tables.extend(write_rows(_read_rows(block, depth + 1)))
        elif block.tag not in _LEFT_OUT:
            waiting.extend(reversed(block))
    spanned = _read_number(cell, "number-columns-spanned")
    repeated = _read_number(cell, "number-columns-repeated")
    rows = _read_number(cell, "number-rows-spanned")
    return Cell(" ".join(texts), spanned * repeated, rows, is_heading, tuple(tables))


def _read_number(element: Element, name: str) -> int:
    value = element.get(name, "")
    is_number = value.isdecimal() and 0 < len(value) < _MOST_DIGITS
    return max(1, int(value)) if is_number else 1


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
    waiting: list[tuple[Element | str, Position]] = [(block, "")]
    while waiting:
        element, position = waiting.pop()
        if isinstance(element, str):
            runs.append((element, position))
        elif element.tag in _SIGNS:
            runs.append((_SIGNS[element.tag], ""))
        elif element.tag == "ruby":
            runs.append((_read_ruby(element), ""))
        elif element is not block and _has_blocks(element) and boxes:
            if element.tag not in _LEFT_OUT:
                parts += [join_runs(runs), element]
                runs = []
        elif element.tag not in _LEFT_OUT:
            waiting.extend(reversed(_list_pieces(element, position, begun=bool(runs))))
    return [*parts, join_runs(runs)]


def _list_pieces(
    element: Element, position: Position, *, begun: bool
) -> list[tuple[Element | str, Position]]:
    """List what is in an element, in order: texts and elements, each with its position.

    Args:
        element: the element.
        position: of the element.
        begun: whether there is text before it.
    """
    here = _POSITIONS.get(element.get(_POSITION, ""), position)
    pieces: list[tuple[Element | str, Position]] = []
    if element.tag in ("p", "h") and begun:
        pieces.append(("\n", ""))
    pieces.append((element.text or "", here))
    for child in element:
        pieces += [(child, here), (child.tail or "", here)]
    if _has_blocks(element):
        pieces.append(("\n", ""))
    return pieces


def _has_blocks(element: Element) -> bool:
    """Whether an element, such as a text box or a shape, has paragraphs in it."""
    return any(child.tag in _BLOCKS for child in element)


def _read_ruby(ruby: Element) -> str:
    """Return characters, and their reading marked after them."""
    base = "".join(_read_text(each) for each in ruby.findall("ruby-base"))
    reading = "".join(_read_text(each) for each in ruby.findall("ruby-text"))
    return base + mark_reading(reading)
