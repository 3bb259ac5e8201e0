"""CSV: each row is a line with the names of the columns."""

import csv
import io
from collections import Counter
from collections.abc import Iterator

from convrag import Document
from convrag_documents.readers.table_rows import format_rows
from convrag_documents.readers.text import decode
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

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
    """Count the cells of the first rows that have as many cells as most of these rows, if that is more than one."""
    rows = csv.reader(io.StringIO(text[:100_000], newline=""), delimiter=delimiter)
    try:
        widths = Counter(len(row) for row, _ in zip(rows, range(_SAMPLE), strict=False) if row)
    except csv.Error:
        return 0
    width, rows_alike = max(widths.items(), key=lambda each: each[1], default=(0, 0))
    return width * rows_alike if width > 1 else 0
