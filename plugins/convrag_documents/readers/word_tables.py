"""Tables of Word files: merged cells, rows of headings, content controls, tables in tables."""

from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import format_table, write_rows

_CONTAINERS = ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
"""Elements that may stand around a row, a cell, or what is in a cell."""

_NO = ("0", "false", "off")
_DEEPEST = 10
"""Tables within each other; the text of those further down belongs to the cell around them."""

ReadText = Callable[[Element], str]


def format_word_table(table: Element, read_text: ReadText) -> str:
    """Write a table as text.

    Args:
        table: the element `w:tbl`.
        read_text: reads the text of a paragraph.
    """
    return format_table(_read_rows(table, read_text, depth=1))


class _Part(NamedTuple):
    """A cell as Word has it: each row has a part of a cell that spans several.

    Args:
        cell: without the rows that it spans.
        column: its first column.
        continues: whether it is part of the cell above it.
    """

    cell: Cell
    column: int
    continues: bool


def _read_rows(table: Element, read_text: ReadText, depth: int) -> list[list[Cell]]:
    """Read the rows of a table, with each merged cell in its first row."""
    rows: list[list[Cell]] = []
    begun: dict[int, tuple[int, int]] = {}
    """Column -> the row, and the number in it, of the cell that may continue below."""
    for row in _walk_to(table, "tr"):
        if row.find("trPr/del") is not None:  # a tracked deletion
            continue
        cells: list[Cell] = []
        still_begun: dict[int, tuple[int, int]] = {}
        for part in _read_row(row, read_text, depth):
            above = begun.get(part.column)
            if part.continues and above is not None:
                first_row, number = above
                cell = rows[first_row][number]
                rows[first_row][number] = cell._replace(rows=cell.rows + 1)
                still_begun[part.column] = above
            else:
                still_begun[part.column] = (len(rows), len(cells))
                cells.append(part.cell)
        begun = still_begun
        rows.append(cells)
    return rows


def _read_row(row: Element, read_text: ReadText, depth: int) -> Iterator[_Part]:
    is_heading = _is_on(row.find("trPr/tblHeader"))
    column = _read_number(row.find("trPr/gridBefore"), 0)
    if column:
        yield _Part(Cell("", column, is_heading=is_heading), 0, continues=False)
    waiting: _Part | None = None
    for element in _walk_to(row, "tc"):
        columns = _read_number(element.find("tcPr/gridSpan"), 1)
        if waiting is not None and _continues(element, "hMerge"):
            spanned = waiting.cell.columns + columns
            waiting = waiting._replace(cell=waiting.cell._replace(columns=spanned))
        else:
            if waiting is not None:
                yield waiting
            text, tables = _read_cell(element, read_text, depth)
            cell = Cell(text, columns, is_heading=is_heading, tables=tables)
            waiting = _Part(cell, column, continues=_continues(element, "vMerge"))
        column += columns
    if waiting is not None:
        yield waiting


def _read_cell(cell: Element, read_text: ReadText, depth: int) -> tuple[str, tuple[str, ...]]:
    """Return the text of a cell without the tables in it, and these, as lines."""
    if depth >= _DEEPEST:
        return read_text(cell), ()
    texts = []
    tables: list[str] = []
    for block in _walk_to(cell, "p", "tbl"):
        if block.tag == "p":
            texts.append(read_text(block))
        else:
            tables.extend(write_rows(_read_rows(block, read_text, depth + 1)))
    return " ".join(texts), tuple(tables)


def _walk_to(root: Element, *tags: str) -> Iterator[Element]:
    """Yield the nearest elements of a kind, also those in containers, in their order."""
    waiting = list(reversed(root))
    while waiting:
        element = waiting.pop()
        if element.tag in tags:
            yield element
        elif element.tag in _CONTAINERS:
            waiting.extend(reversed(element))


def _continues(cell: Element, kind: str) -> bool:
    """Whether a cell is part of the one above it (vMerge), or of the one before it (hMerge)."""
    merge = cell.find(f"tcPr/{kind}")
    return merge is not None and merge.get("val", "continue") == "continue"


def _is_on(switch: Element | None) -> bool:
    return switch is not None and switch.get("val", "1") not in _NO


def _read_number(element: Element | None, default: int) -> int:
    value = "" if element is None else element.get("val", "")
    is_number = value.isdecimal() and len(value) < 7
    return max(default, int(value)) if is_number else default
