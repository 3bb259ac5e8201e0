"""Excel files: each sheet is a page, with one line of text for each row of its tables."""

import io
import re
from collections.abc import Iterator
from datetime import date, datetime, time

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.sheet_tables import write_sheet
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_CELL_PLACE = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d+)[\"']")
_MOST_CELLS = 10_000_000
"""Cells between the first and the last of a sheet.

The library makes room for all of them, 32 bytes each.
"""
_MOST_ROW_DIGITS = 12
_MOST_COLUMN_LETTERS = 8
_FIRST_INEXACT = 1e15
"""A number from which a float has no exact decimals."""


def read_xlsx(content: bytes) -> Iterator[Document]:
    """Read the sheets that have cells, in their order."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    for name, member in Archive(content).read_all():
        _check_size(name, member)
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


def _check_size(name: str, member: bytes) -> None:
    """Refuse a sheet with a cell far away from the others. Raises Unreadable."""
    if b"sheetData" not in member:
        return
    places = set(_CELL_PLACE.findall(member))
    height = max((int(digits[:_MOST_ROW_DIGITS]) for _, digits in places), default=0)
    width = max((_count_columns(letters) for letters, _ in places), default=0)
    if width * height > _MOST_CELLS:
        raise Unreadable(
            f"the cells of {name} lie {height:,} rows and {width:,} columns apart; "
            "delete the stray ones"
        )


def _count_columns(letters: bytes) -> int:
    """Return the number of a column from its letters: 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper()[:_MOST_COLUMN_LETTERS]:
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
