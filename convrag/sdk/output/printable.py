"""Text for terminals, logs and Markdown: without control characters or HTML tags; counts, durations
and tables.
"""

import re
from collections.abc import Sequence

from convrag.api.printable import make_printable

__all__ = [
    "count",
    "format_cell",
    "format_duration",
    "format_line",
    "format_table",
    "format_text",
    "make_printable",
]


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 turn", "2 turns"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_duration(seconds: float) -> str:
    """Seconds in the unit that reads best: "0.4 s", "12 s", "3 min", "2.5 h"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_CELL = str.maketrans({"|": "&#124;", "`": "&#96;"})


def format_text(text: str) -> str:
    """Return a text as Markdown that starts no HTML; what else it has of Markdown stays."""
    return _TAG.sub("&lt;", make_printable(text))


def format_line(text: str) -> str:
    """Return a text as one line of Markdown that starts no HTML."""
    return " ".join(format_text(text).split())


def format_cell(text: str) -> str:
    """Return a text as a cell of a table: also without a bar or a backtick that Markdown would
    read.
    """
    return format_line(text).translate(_CELL)


def format_table(rows: Sequence[Sequence[str]], *, names: int | None = None) -> list[str]:
    """Return the lines of a table in GitHub's Markdown; no rows give none.

    Args:
        rows: the cells; the first row is the heading.
        names: how many columns, from the left, are words; the others are numbers, aligned to the
            right. By default, none is aligned.
    """
    if not rows:
        return []
    rule = ["---" if names is None or index < names else "---:" for index in range(len(rows[0]))]
    heading, *body = [[format_cell(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in [heading, rule, *body]]
