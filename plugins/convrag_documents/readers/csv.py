"""CSV: one line of text for each row, with the names of the columns."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from convrag import Document
from convrag_documents.readers.encoding import decode
from convrag_documents.readers.tables import format_named_rows
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
"""Rows from which the delimiter is guessed."""

_SAMPLE_LENGTH = 100_000
"""Characters in which these rows are looked for."""


def read_csv(content: bytes) -> Iterator[Document]:
    """Read a table as RFC 4180 has it, also with semicolons, tabs or bars between its cells."""
    text = decode(content)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_guess_delimiter(text))
    lines: list[str] = []
    problem = ""
    try:
        lines.extend(format_named_rows(rows))
    except csv.Error as error:
        problem = f"line {rows.line_num}: {error}"
    builder = TextBuilder()
    builder.add("\n".join(lines))
    yield builder.build()
    if problem:
        raise Unreadable(problem)


def _guess_delimiter(text: str) -> str:
    return max(_DELIMITERS, key=lambda delimiter: _count_aligned_cells(text, delimiter))


def _count_aligned_cells(text: str, delimiter: str) -> int:
    """Count the cells of the first rows that are as wide as most of them; 0 for a single column."""
    sample = io.StringIO(text[:_SAMPLE_LENGTH], newline="")
    rows = islice(csv.reader(sample, delimiter=delimiter), _SAMPLE_ROWS)
    try:
        widths = Counter(len(row) for row in rows if row)
    except csv.Error:
        return 0
    if not widths:
        return 0
    width, count = widths.most_common(1)[0]
    return width * count if width > 1 else 0
