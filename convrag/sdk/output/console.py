"""The console of Rich that everything is printed on, rows of progress included: only Rich may style
what is printed.
"""

from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from convrag.api.printable import make_printable
from convrag.sdk.output.printable import format_duration

__all__ = ["make_console"]


class PrintableConsole(Console):
    """A console that prints text as it is: without markup, emoji codes, highlighting and control
    characters.

    Args:
        stderr: write to standard error.
        options: further ones of Rich's Console.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(
            **{"stderr": stderr, "highlight": False, "markup": False, "emoji": False, **options}
        )

    @property
    def file(self) -> IO[str]:
        """The stream that is written to, without the filter of convrag.api.printable: styles pass."""
        stream = super().file
        return getattr(stream, "unguarded", stream)

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text of a string: here, before it is laid out, since control characters have no
        width.
        """
        return super().render_str(make_printable(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as Rich does, and take out what came in by other ways than strings, hyperlinks
        included.
        """
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                style = (
                    segment.style.update_link(None)
                    if segment.style and segment.style.link
                    else segment.style
                )
                yield Segment(make_printable(segment.text), style)


def make_console(*, stderr: bool = False, **options: Any) -> Console:
    """Make the console for a command's output, on standard output or standard error; see
    PrintableConsole.
    """
    return PrintableConsole(stderr=stderr, **options)


def make_display() -> Progress:
    """A display on standard error that leaves nothing behind, not yet started."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(), _Count(), _Time()
    return Progress(*columns, console=make_console(stderr=True), transient=True)


class _Count(MofNCompleteColumn):
    """How many parts are done; nothing for a step without parts."""

    def render(self, task: Task) -> Text:
        return Text("") if task.total is None else super().render(task)


class _Time(TimeRemainingColumn):
    """The time that is left; of a step without parts, the time so far."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(format_duration(task.elapsed or 0.0), style="progress.elapsed")
        return super().render(task)
