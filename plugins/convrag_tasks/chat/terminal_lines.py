"""Lines of a terminal: how wide they are, and how something is laid out and printed as lines."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.segment import Segment, Segments

Line = list[Segment]

MAX_WIDTH = 100
"""Columns of text: longer lines are hard to read."""


def text_width(console: Console) -> int:
    """Return the columns that text takes on a console."""
    return min(console.width, MAX_WIDTH)


def render_lines(console: Console, renderable: RenderableType) -> list[Line]:
    """Lay something out as lines, without spaces at their ends.

    In a narrower window, such spaces would take rows.
    """
    options = console.options.update(width=text_width(console), height=None)
    return [_strip_end(line) for line in console.render_lines(renderable, options, pad=False)]


def print_lines(console: Console, lines: Sequence[Line]) -> None:
    """Print lines, in one write."""
    with console:
        for line in lines:
            console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)


def _strip_end(line: Line) -> Line:
    stripped = list(line)
    while stripped and not stripped[-1].text.rstrip():
        stripped.pop()
    if not stripped:
        return []
    last = stripped.pop()
    return [*stripped, Segment(last.text.rstrip(), last.style)]
