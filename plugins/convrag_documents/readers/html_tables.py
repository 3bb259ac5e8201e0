"""Tables of web pages: which of them have data, and their cells.

A table with cells of headings (`<th>`), a head or a caption has data. Without these, it has data if
it has two rows and two columns, and no cell with a table, a list, code or a heading of the page in
it. Other tables lay out the page: the text in their cells is read as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from convrag_documents.readers.merged_cells import Cell

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

LAYOUT_PARTS = "table, ul, ol, pre, h1, h2, h3, h4, h5, h6"
"""Elements that make a cell of a table a part of the page's layout, instead of a value in a row."""

_HEADINGS = "h1, h2, h3, h4, h5, h6"
_LAYOUT_ROLES = ("presentation", "none")
_ROW_GROUPS = ("thead", "tbody", "tfoot")
_MOST_ROWS = 65_534
"""Rows that a cell may span, as in HTML."""


class HtmlTable(NamedTuple):
    """A table of a page.

    Args:
        rows: the cells of each row.
        caption: empty if it has none.
    """

    rows: list[list[Cell]]
    caption: str


def is_data_table(table: LexborNode) -> bool:
    """Whether a table has data, and does not lay out the page."""
    if table.attributes.get("role") in _LAYOUT_ROLES:
        return False
    rows = [_list_cells(row) for row, _ in _list_rows(table)]
    cells = [cell for row in rows for cell in row]
    values = [cell for cell in cells if cell.tag == "td"]
    if len(values) < len(cells) or _has_marks(table):
        return bool(cells) and not any(cell.css_first(_HEADINGS) for cell in values)
    has_merged_rows = any("rowspan" in cell.attributes for cell in cells)
    rows_of_values = [row for row in rows if len(row) > 1 or has_merged_rows]
    if len(rows_of_values) < 2 or len(cells) == len(rows):
        return False
    return not any(cell.css_first(LAYOUT_PARTS) for cell in cells)


def read_table(
    table: LexborNode, read_cell: Callable[[LexborNode], tuple[str, tuple[str, ...]]]
) -> HtmlTable:
    """Read the cells of a table.

    Args:
        table: the element.
        read_cell: reads the text of a cell, and the tables in it, as lines.
    """
    rows: list[list[Cell]] = []
    foot: list[list[Cell]] = []
    for row, group in _list_rows(table):
        if "hidden" in row.attributes:
            continue
        cells = []
        for node in _list_cells(row):
            attributes = node.attributes
            if "hidden" in attributes:
                continue
            text, tables = read_cell(node)
            columns = _read_span(attributes.get("colspan"))
            spanned_rows = _read_row_span(attributes.get("rowspan"))
            is_heading = node.tag == "th" or group == "thead"
            cells.append(Cell(text, columns, spanned_rows, is_heading, tables))
        part = foot if group == "tfoot" else rows
        part.append(cells)
    caption = _find_caption(table)
    return HtmlTable(rows + foot, "" if caption is None else read_cell(caption)[0])


def _list_rows(table: LexborNode) -> Iterator[tuple[LexborNode, str]]:
    """Yield the rows of a table, without those of tables in it, each with its group."""
    for child in _list_elements(table):
        if child.tag == "tr":
            yield child, "tbody"
        elif child.tag in _ROW_GROUPS:
            for row in _list_elements(child):
                if row.tag == "tr":
                    yield row, child.tag


def _list_cells(row: LexborNode) -> list[LexborNode]:
    return [child for child in _list_elements(row) if child.tag in ("td", "th")]


def _find_caption(table: LexborNode) -> LexborNode | None:
    return next((child for child in _list_elements(table) if child.tag == "caption"), None)


def _has_marks(table: LexborNode) -> bool:
    """Whether a table has a head or a caption."""
    return any(child.tag in ("thead", "caption") for child in _list_elements(table))


def _list_elements(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        if not child.is_text_node:
            yield child
        child = child.next


def _read_row_span(value: str | None) -> int:
    """Read the number of rows that a cell spans; 0 stands for all that follow."""
    is_open = value is not None and value.strip() == "0"
    return _MOST_ROWS if is_open else _read_span(value)


def _read_span(value: str | None) -> int:
    if value is None:
        return 1
    digits = value.strip()[:6]
    return max(1, int(digits)) if digits.isascii() and digits.isdecimal() else 1
