"""XLSX: each sheet is a page, each row a line with the names of the columns."""

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.table_rows import format_rows
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_PLACE = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d+)[\"']")
_MOST_CELLS = 10_000_000
"""Cells between the first and the last of a sheet: the library makes room for all of them, 32 bytes each."""


def read_xlsx(content: bytes) -> Iterator[Document]:
    """Read the sheets that hold cells, in their order."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    for name, member in Archive(content).read_all():
        _check_size(name, member)
    book = CalamineWorkbook.from_filelike(BytesIO(content))
    builder = TextBuilder(page_name="sheet")
    for sheet in book.sheets_metadata:
        if sheet.typ != SheetTypeEnum.WorkSheet:  # a chart
            continue
        builder.begin_page()
        rows = book.get_sheet_by_name(sheet.name).iter_rows()
        lines = "\n".join(format_rows([_format_value(value) for value in row] for row in rows))
        if lines:
            builder.add_heading(1, sheet.name)
            builder.add(lines)
    yield builder.build()


def _check_size(name: str, member: bytes) -> None:
    """Refuse a sheet with a cell far away from the others: the library makes room for all in between."""
    if b"sheetData" not in member:
        return
    places = set(_PLACE.findall(member))
    height = max((int(digits[:12]) for _, digits in places), default=0)
    width = max((_count_columns(letters) for letters, _ in places), default=0)
    if width * height > _MOST_CELLS:
        raise Unreadable(f"the cells of {name} lie {height:,} rows and {width:,} columns apart; delete the stray ones")


def _count_columns(letters: bytes) -> int:
    """The number of a column from its letters: 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper()[:8]:
        number = 26 * number + letter - 64
    return number


def _format_value(value: object) -> str:
    """A cell as people write it: no time of day in a date, no decimals in a whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        whole = value.time() == time()
        return value.date().isoformat() if whole else value.isoformat(" ", "minutes")
    return value.isoformat() if isinstance(value, date | time) else str(value)
