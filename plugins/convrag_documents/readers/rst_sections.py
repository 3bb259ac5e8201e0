"""The titles of sections in reStructuredText, which are underlined, or between two lines."""

from collections.abc import Sequence
from typing import NamedTuple

_ADORNMENTS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SHORTEST = 4
"""Signs of a line below a title that may be shorter than the title."""


class Title(NamedTuple):
    """The title of a section.

    Args:
        text: of the title.
        style: the sign of its line, twice for a title between two lines.
        lines: the number of lines that it takes.
    """

    text: str
    style: str
    lines: int


def is_adornment(line: str) -> bool:
    """Whether a line is one sign again and again."""
    return line[:1] in _ADORNMENTS and line == line[0] * len(line)


def find_title(lines: Sequence[str], number: int) -> Title | None:
    """Find the title that begins with a line; None where none does.

    Args:
        lines: without spaces at their ends.
        number: of the line, which is not blank, and does not continue a paragraph.
    """
    first, second, third = (_get(lines, number + ahead) for ahead in range(3))
    if is_adornment(first):
        is_between = second.strip() != "" and not is_adornment(second) and third == first
        return Title(second.strip(), first[0] * 2, 3) if is_between else None
    if first.startswith(" ") or not is_adornment(second):
        return None
    is_long = len(second) >= min(len(first), _SHORTEST)
    return Title(first, second[0], 2) if is_long else None


def _get(lines: Sequence[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""
