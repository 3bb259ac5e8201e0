"""CSV and XLSX: each row is a line with the names of the columns, each sheet of XLSX a page; JSONL:
lines of documents.

A line can be understood alone: "item: laptop; price: 1200".
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

from convrag import Document
from convrag.sdk.data.strict_json import parse_json
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.text import TextBuilder, decode
from convrag_documents.unreadable import Unreadable

_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")


def format_rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row that is not empty, with the names of the columns, if the table has
    them.

    The first row with two cells that are not empty has the names if all of these are texts, and no
    two the same. What stands above it, such as a title, is a line of its own; so is each row of a
    table without names.
    """
    names: Sequence[str] | None = None
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        filled = [cell for cell in cells if cell]
        if names is None and len(filled) > 1:
            names = cells if _are_names(filled) else ()
            if names:
                continue
        if names and len(filled) > 0:
            yield "; ".join(
                _format_cell(names, place, cell) for place, cell in enumerate(cells) if cell
            )
        elif filled:
            yield " | ".join(filled)


def _are_names(cells: Sequence[str]) -> bool:
    return (
        len(set(cells)) == len(cells)
        and not any(map(_NUMBER.fullmatch, cells))
        and max(map(len, cells)) <= 100
    )


def _format_cell(names: Sequence[str], place: int, cell: str) -> str:
    name = names[place] if place < len(names) else ""
    return f"{name}: {cell}" if name else cell


_DELIMITERS = ",;\t|"
_SAMPLE = 20  # rows from which the delimiter is told


def read_csv(content: bytes) -> Iterator[Document]:
    """Read a table as RFC 4180 has it, also with semicolons, tabs or bars between its cells."""
    text = decode(content)
    delimiter = max(_DELIMITERS, key=lambda each: _count_alike(text, each))
    builder = TextBuilder()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    lines: list[str] = []
    try:
        lines.extend(format_rows(rows))
        failed = ""
    except csv.Error as error:
        failed = f"line {rows.line_num}: {error}"
    builder.add("\n".join(lines))
    yield builder.build()
    if failed:
        raise Unreadable(failed)


def _count_alike(text: str, delimiter: str) -> int:
    """Count the cells of the first rows that have as many cells as most of these rows, if that is
    more than one.
    """
    rows = csv.reader(io.StringIO(text[:100_000], newline=""), delimiter=delimiter)
    try:
        widths = Counter(len(row) for row, _ in zip(rows, range(_SAMPLE), strict=False) if row)
    except csv.Error:
        return 0
    width, rows_alike = max(widths.items(), key=lambda each: each[1], default=(0, 0))
    return width * rows_alike if width > 1 else 0


_PLACE = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]*)(\d+)[\"']")
_MOST_CELLS = 10_000_000
"""Cells between the first and the last of a sheet: the library makes room for all of them, 32 bytes
each.
"""


def read_xlsx(content: bytes) -> Iterator[Document]:
    """Read the sheets that hold cells, in their order."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    for name, member in Archive(content).read_all():
        _check_size(name, member)
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
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
    """Refuse a sheet with a cell far away from the others: the library makes room for all in
    between.
    """
    if b"sheetData" not in member:
        return
    places = set(_PLACE.findall(member))
    height = max((int(digits[:12]) for _, digits in places), default=0)
    width = max((_count_columns(letters) for letters, _ in places), default=0)
    if width * height > _MOST_CELLS:
        raise Unreadable(
            f"the cells of {name} lie {height:,} rows and {width:,} columns apart; delete the stray ones"
        )


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


_TEXT_NAMES = ("text", "content", "contents", "body", "passage")
_TITLE_NAMES = ("title", "name", "heading")
_URL_NAMES = ("url", "link", "source_url")


def read_jsonl(content: bytes) -> Iterator[Document]:
    """Read one document a line, named by the number of its line.

    An object has its text under `text` (or content, contents, body, passage), and may have a title
    and a url. Without one of these, all its texts and numbers are: "question: ...", a line each.
    """
    failed = []
    for number, line in enumerate(decode(content).split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _make_document(str(number), parse_json(line))
        except ValueError as error:
            failed.append(f"line {number}: this is not JSON: {error}")
    if failed:
        more = f" (and {len(failed) - 1} more like it)" if len(failed) > 1 else ""
        raise Unreadable(f"{failed[0]}{more}")


def read_json(content: bytes) -> Iterator[Document]:
    """Read the items of an array as the lines of JSONL; an object is one document."""
    try:
        data = parse_json(decode(content))
    except ValueError as error:
        raise Unreadable(f"this is not JSON: {error}") from error
    if isinstance(data, list):
        yield from (_make_document(str(number), row) for number, row in enumerate(data, 1))
    else:
        yield _make_document("", data)


def _make_document(part: str, row: Any) -> Document:
    if not isinstance(row, dict):
        return Document(part, row if isinstance(row, str) else "")
    title, url = _find_text(row, _TITLE_NAMES), _find_text(row, _URL_NAMES)
    if text := _find_text(row, _TEXT_NAMES):
        return Document(part, text, title=title, url=url)
    return Document(part, "\n".join(_list_fields(row)), title=title, url=url)


def _list_fields(value: Any, name: str = "") -> Iterator[str]:
    """The texts and numbers in a value, a line each: "office.city: Ulm"."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _list_fields(each, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for each in value:
            yield from _list_fields(each, name)
    elif isinstance(value, str | int | float) and str(value).strip():
        yield f"{name}: {value}"


def _find_text(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return next(
        (value for name in names if isinstance(value := row.get(name), str) and value.strip()), ""
    )
