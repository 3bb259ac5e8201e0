"""Rows of tables in a text: "item: laptop; price: 1200", as dataset=documents writes them.

Each row is a line, which is understood without the others as long as it is whole.
"""

import re
from collections.abc import Iterator

ROW = re.compile(r"(?:[^:;\n]{1,100}; )?[^:;\n]{1,100}: [^\n]{0,1000}?; [^:;\n]{1,100}: ")
"""The beginning of a row; one that has a heading without a name begins with it."""

_MOST_INDENT = 40
"""Characters of indentation of a row in a list."""

_FIELD_START = re.compile(r"(?<=;) (?=[^:;\n]{1,100}: )")


def find_row_end(text: str, start: int, end: int) -> int | None:
    """Return the end of the row that begins at a place; None if none begins there."""
    line_start = text.rfind("\n", max(0, start - _MOST_INDENT), start) + 1
    is_within_line = text[line_start:start].strip() != "" or start - line_start > _MOST_INDENT
    if is_within_line or not ROW.match(text, start, end):
        return None
    line_end = text.find("\n", start, end)
    return end if line_end < 0 else line_end


def list_fields(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the fields of a row, each with its name and the sign after it."""
    first = start
    for border in _FIELD_START.finditer(text, start, end):
        yield first, border.start()
        first = border.end()
    yield first, end
