"""The rows of CSV and TSV files, as they are and not only as RFC 4180 has them.

Python's csv module ends at cells of 131,072 characters, a limit that can be raised only for the
whole process, and a quote that is left open swallows the rest of a file. Here cells have no limit,
and an opening quote without a closing one is a character like others.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

_QUOTE = '"'
_DELIMITERS = "\t|;,"
"""The signs that may stand between cells; those that are rare within cells come first."""

_NO_DELIMITER = "\n"
"""In place of a delimiter, for a single column."""

_SAMPLE_ROWS = 20
"""Rows from which the delimiter is guessed."""

_SAMPLE_LENGTH = 100_000
"""Characters in which these rows are looked for."""

_LEAST_SHARE = 0.5
"""The share of rows as wide as the header row, where the first row is a title."""

_MOST_OPEN_QUOTES = 50
"""Quotes without an end that are looked for; in a file with more, no quote has a meaning."""


def split_rows(text: str, preferred: str = "") -> Iterator[list[str]]:
    """Yield the rows of a table; a blank line is an empty row.

    Args:
        text: the file, whose lines end with newlines.
        preferred: the delimiter that the file's name promises; it is taken if the first row of
            several cells has it. Otherwise the first rows tell the delimiter. A first line such as
            "sep=;", which Excel writes, decides in any case.
    """
    text = text.lstrip("\ufeff")
    first_line, _, rest = text.partition("\n")
    declared = _read_declaration(first_line)
    if declared:
        return _RowReader(rest, declared).read()
    return _RowReader(text, _guess_delimiter(text, preferred)).read()


def _read_declaration(line: str) -> str:
    """Return the delimiter that a line "sep=;" declares; empty for any other line."""
    stripped = line.strip(" ").strip(_QUOTE)
    name, _, delimiter = stripped.partition("=")
    is_declaration = name.lower() == "sep" and len(delimiter) == 1
    return delimiter if is_declaration else ""


def _guess_delimiter(text: str, preferred: str) -> str:
    """Choose the delimiter that the first rows agree on; none for a single column.

    The header row is the first row of several cells. The delimiter with the most rows of as many
    cells is taken; among equals, the one whose header row comes first.
    """
    sample = text[:_SAMPLE_LENGTH]
    if len(text) > _SAMPLE_LENGTH:
        sample = sample.rpartition("\n")[0] or sample
    best = _NO_DELIMITER
    best_score: tuple[float, int, int] | None = None
    for delimiter in _DELIMITERS:
        rows = list(islice(_RowReader(sample, delimiter).read(), _SAMPLE_ROWS))
        score = _score_rows(rows)
        if score is None:
            continue
        if delimiter == preferred:
            score = (1.0, score[1], score[2])
        if best_score is None or score > best_score:
            best, best_score = delimiter, score
    return best


def _score_rows(rows: Sequence[Sequence[str]]) -> tuple[float, int, int] | None:
    """Return the share of rows as wide as the header row, its place from below, and its width.

    None where no row has two cells, or where the delimiter is a sign within texts: the first row
    does not have it, and most rows do not either.
    """
    for number, header in enumerate(rows):
        if len(header) > 1:
            below = [row for row in rows[number:] if row]
            aligned = [row for row in below if len(row) == len(header)]
            share = len(aligned) / len(below)
            is_within_text = number > 0 and share <= _LEAST_SHARE
            return None if is_within_text else (share, -number, len(header))
    return None


class _RowReader:
    """Splits a text into rows.

    Args:
        text: the text.
        delimiter: the sign between cells.
    """

    def __init__(self, text: str, delimiter: str) -> None:
        self._text = text
        self._delimiter = delimiter
        self._border = re.compile(f"[{re.escape(delimiter)}\n]")
        self._open_quotes = 0
        """Quotes whose end was looked for in vain."""

    def read(self) -> Iterator[list[str]]:
        """Yield the rows."""
        text = self._text
        start = 0
        while start < len(text):
            end = text.find("\n", start)
            if end < 0:
                end = len(text)
            line = text[start:end]
            if _QUOTE not in line:
                yield line.split(self._delimiter) if line.strip(" ") else []
                start = end + 1
            else:
                row, start = self._read_quoted_row(start)
                yield row

    def _read_quoted_row(self, start: int) -> tuple[list[str], int]:
        """Read a row with a quote in it: its cells, and the start of the next row."""
        text = self._text
        row = []
        while True:
            cell, end = self._read_cell(start)
            row.append(cell)
            start = end + 1
            if end >= len(text) or text[end] == "\n":
                return row, start

    def _read_cell(self, start: int) -> tuple[str, int]:
        """Read a cell, and return it with the place of the sign after it."""
        text = self._text
        opening = start
        while text.startswith(" ", opening):
            opening += 1
        if text.startswith(_QUOTE, opening):
            closing = self._find_closing_quote(opening + 1)
            if closing is not None:
                content = text[opening + 1 : closing].replace(_QUOTE * 2, _QUOTE)
                return content, self._find_end(closing + 1)
        end = self._find_end(start)
        return text[start:end], end

    def _find_closing_quote(self, start: int) -> int | None:
        """Return the place of the quote that closes a cell; None where the quote is left open.

        After it come only spaces before the next cell or row.
        """
        text = self._text
        if self._open_quotes > _MOST_OPEN_QUOTES:
            return None
        place = text.find(_QUOTE, start)
        while place >= 0 and text.startswith(_QUOTE, place + 1):
            place = text.find(_QUOTE, place + 2)
        if place < 0:
            self._open_quotes += 1
            return None
        end = self._find_end(place + 1)
        return place if not text[place + 1 : end].strip(" ") else None

    def _find_end(self, start: int) -> int:
        """Return the place of the next delimiter or line end, or the end of the text."""
        found = self._border.search(self._text, start)
        return found.start() if found else len(self._text)
