"""Text for terminals, logs and Markdown: printable text, counts, durations and tables."""

import re
from collections.abc import Sequence

from convrag.api.printable import make_printable

__all__ = [
    "count",
    "escape_markdown",
    "format_cell",
    "format_duration",
    "format_line",
    "format_table",
    "format_text",
    "make_printable",
    "unescape_markdown",
]


def count(number: int, noun: str) -> str:
    """Format a number with its noun: "1 turn", "2 turns"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_duration(seconds: float) -> str:
    """Format seconds in the unit that reads best: "0.4 s", "12 s", "3 min", "2.5 h"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_CELL = str.maketrans({"|": "&#124;", "`": "&#96;"})


def format_text(text: str) -> str:
    """Return a text as Markdown without HTML; its own Markdown stays."""
    return _TAG.sub("&lt;", make_printable(text))


def format_line(text: str) -> str:
    """Return a text as one line of Markdown without HTML."""
    return " ".join(format_text(text).split())


_SYNTAX = re.compile(
    r"[\\`*\[\]~]"
    r"|(?<!\w)_|_(?!\w)"  # within a word it is no emphasis
    r"|:(?=//)|(?<=www)\."  # addresses, which GitHub's Markdown makes links of
)
_BLOCK = re.compile(r"\A(?:(?=[#>|+-])|\d{1,9}(?=[.)]))")
"""The beginning of a heading, a quotation, a table or a list, where a backslash undoes it."""

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def escape_markdown(text: str, *, begins_line: bool = False) -> str:
    """Return a text as one line of Markdown that shows it as it is.

    Everything that comes from a document goes through it: it makes no link, image or item of a
    list, and no line break.

    Args:
        text: any text.
        begins_line: whether nothing stands before it in its line, or in its item of a list.
    """
    escaped = _SYNTAX.sub(r"\\\g<0>", format_line(text))
    return _BLOCK.sub(r"\g<0>\\", escaped) if begins_line else escaped


def unescape_markdown(text: str) -> str:
    """Return the line that `escape_markdown` escaped."""
    return _ESCAPE.sub(r"\1", text)


def format_cell(text: str) -> str:
    """Return a text as a cell of a table in Markdown, with bars and backticks encoded."""
    return format_line(text).translate(_CELL)


def format_table(rows: Sequence[Sequence[str]], *, names: int | None = None) -> list[str]:
    """Return the lines of a table in GitHub's Markdown; no rows give none.

    Args:
        rows: the cells; the first row is the heading.
        names: the number of columns, from the left, that are words; the others are numbers, aligned
            to the right. None aligns no column.
    """
    if not rows:
        return []
    columns = len(rows[0])
    words = columns if names is None else min(names, columns)
    rule = ["---"] * words + ["---:"] * (columns - words)
    heading, *body = [[format_cell(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in [heading, rule, *body]]
