"""Excel files: each sheet is a page, with one line of text for each row of its tables."""

import io
import re
from collections.abc import Iterator
from datetime import date, datetime, time

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.sheet_tables import write_sheet
from convrag_documents.readers.text_builder import TextBuilder

_CELL_PLACE = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d+)[\"']")
_MOST_CELLS = 10_000_000
_MOST_CELLS_OF_SMALL = 2_000_000
"""Cells between the first and the last of a sheet: of any file, and of one without a byte.

Each byte of a file allows one cell more. The library makes room for all of them, 32 bytes each.
"""
_MOST_ROW_DIGITS = 12
_MOST_COLUMN_LETTERS = 8
_FIRST_INEXACT = 1e15
"""A number from which a float has no exact decimals."""


def read_xlsx(content: bytes) -> Iterator[Document]:
    """Read the sheets that have cells, in their order."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    most_cells = min(_MOST_CELLS, _MOST_CELLS_OF_SMALL + len(content))
    for name, member in Archive(content).read_all():
        _check_size(name, member, most_cells)
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    builder = TextBuilder(page_name="sheet")
    for sheet in book.sheets_metadata:
        if sheet.typ != SheetTypeEnum.WorkSheet:  # a chart
            continue
        builder.begin_page()
        lines = "\n".join(write_sheet(book.get_sheet_by_name(sheet.name), _format_value))
        if lines:
            builder.add_heading(1, sheet.name)
            builder.add(lines)
    yield builder.build()


def _check_size(name: str, member: bytes, most_cells: int) -> None:
    """Refuse a sheet with a cell far away from the others. Raises Unreadable."""
    if b"sheetData" not in member:
        return
    height = 0
    columns = set()
    for place in _CELL_PLACE.finditer(member):
        height = max(height, int(place[2][:_MOST_ROW_DIGITS]))
        columns.add(place[1][:_MOST_COLUMN_LETTERS])
    width = max(map(_count_columns, columns), default=0)
    if width * height > most_cells:
        raise Unreadable(
            f"the cells of {name} lie {height:,} rows and {width:,} columns apart; "
            "delete the stray ones"
        )


def _count_columns(letters: bytes) -> int:
    """Return the number of a column from its letters: 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _format_value(value: object) -> str:
    """Write a cell as people do: no time of day in a date, no decimals in a whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _FIRST_INEXACT:
        return str(int(value))
    if isinstance(value, datetime):
        is_date = value.time() == time()
        return value.date().isoformat() if is_date else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)
