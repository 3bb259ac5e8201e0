"""The console on which everything is printed: only Rich may style the output."""

from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from convrag.api.printable import make_printable

__all__ = ["make_console"]


class PrintableConsole(Console):
    """A console that prints text as it is, without markup, emoji codes and control characters.

    Args:
        stderr: whether to write to standard error.
        options: further ones of Rich's Console.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        defaults = {"highlight": False, "markup": False, "emoji": False}
        super().__init__(stderr=stderr, **(defaults | options))

    @property
    def file(self) -> IO[str]:
        """The stream, without the filter of convrag.api.printable, which would remove styles."""
        stream = super().file
        return getattr(stream, "unguarded", stream)

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text of a string, without control characters: they have no width in a layout."""
        return super().render_str(make_printable(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as Rich does, without hyperlinks and control characters from any source."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            style = segment.style
            if style and style.link:
                style = style.update_link(None)
            yield Segment(make_printable(segment.text), style)


def make_console(*, stderr: bool = False, **options: Any) -> Console:
    """Make the console for a command's output (see PrintableConsole)."""
    return PrintableConsole(stderr=stderr, **options)
