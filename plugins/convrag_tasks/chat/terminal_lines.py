"""Lines of a terminal, as Rich lays them out: of a width that can be read, or narrower."""

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
    """Lay something out as lines, without spaces at their ends: in a narrower window these would take rows."""
    options = console.options.update(width=text_width(console), height=None)
    return [_strip_end(line) for line in console.render_lines(renderable, options, pad=False)]


def print_lines(console: Console, lines: Sequence[Line]) -> None:
    """Print lines, in one write."""
    with console:
        for line in lines:
            console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)


def _strip_end(line: Line) -> Line:
    kept = list(line)
    while kept and not kept[-1].text.rstrip():
        kept.pop()
    return [*kept[:-1], Segment(kept[-1].text.rstrip(), kept[-1].style)] if kept else []
