"""Shows an answer while it is generated: the stage at work, then the text in Markdown.

Control characters are made visible, so that nothing is hidden in an answer.
"""

import atexit
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.segment import Segment, Segments
from rich.spinner import Spinner
from rich.text import Text

from convrag.sdk.output.printable import make_printable

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
    kept = list(line)
    while kept and not kept[-1].text.rstrip():
        kept.pop()
    return [*kept[:-1], Segment(kept[-1].text.rstrip(), kept[-1].style)] if kept else []


DOING = {
    "memory": "Recalling the conversation",
    "rewriter": "Rewriting the question",
    "search": "Planning the search",
    "retriever": "Searching",
    "reranker": "Ranking the passages",
    "selector": "Choosing passages",
    "context": "Putting the evidence together",
    "generator": "Writing the answer",
}
"""Stage -> the words for its work."""

SPINNER_AFTER = 0.15
"""Seconds after which the stage at work is shown."""

SHARE_OF_TIME = 0.1
"""The largest share of the time between two drawings that drawing may take."""


PrintLine = Callable[[str, str], None]


class PlainDisplay:
    """A display that prints the pieces of an answer as they come, into a pipe.

    Args:
        console: a console for a pipe, or for a terminal that cannot move its cursor.
        print_line: a function that prints a line in a style.
    """

    def __init__(self, console: Console, print_line: PrintLine) -> None:
        self.console = console
        self._print_line = print_line
        self.text = ""

    def show_doing(self, doing: str) -> None:
        """Do nothing: a pipe has no spinner."""

    def add_piece(self, piece: str) -> None:
        """Print a piece of the answer."""
        self.text += piece
        self.console.print(piece, end="", soft_wrap=True)

    def print_line(self, text: str, style: str = "") -> None:
        """Print a line."""
        self._print_line(text, style)

    def tick(self) -> None:
        """Do nothing: pieces are printed at once."""

    def close(self) -> None:
        """End the last line."""
        if self.text.strip():
            self.console.print()


class AnswerDisplay(PlainDisplay):
    """A display of one answer on a terminal: a spinner, then Markdown that is wrapped and grows.

    Finished blocks are printed for good; the last one is drawn again when more of it comes.

    Args:
        console: a console for a terminal that can move the cursor.
        print_line: a function that prints a line in a style.
    """

    def __init__(self, console: Console, print_line: PrintLine) -> None:
        super().__init__(console, print_line)
        self._live: Live | None = None
        self._open = ""  # the end of the text, which is not printed for good yet
        self._has_text = False
        self._spinner = Spinner("line" if console.options.ascii_only else "dots", style="cyan")
        self._doing = ""
        self._since = time.monotonic()
        self._changed = False
        self._first_spinner = self._since + SPINNER_AFTER
        self._next_drawing = 0.0

    def show_doing(self, doing: str) -> None:
        """Show the work of a stage ("Searching") until text comes; nothing for an empty text."""
        self._doing = doing
        self._since = time.monotonic()

    def add_piece(self, piece: str) -> None:
        """Add a piece of the answer; it is seen at the next tick."""
        self.text += piece
        self._open += make_printable(piece)
        self._changed = True

    def tick(self) -> None:
        """Draw what has changed, unless drawing would take too large a share of the time."""
        begun = time.monotonic()
        if begun < self._next_drawing:
            return
        if self._open:
            self._draw_text()
        elif self._doing and not self._has_text and begun >= self._first_spinner:
            self._draw(render_lines(self.console, self._make_spinner()))
        self._next_drawing = time.monotonic() + (time.monotonic() - begun) / SHARE_OF_TIME

    def print_line(self, text: str, style: str = "") -> None:
        """Print a line for good, above what is drawn next."""
        self._erase()
        self._print_line(text, style)

    def close(self) -> None:
        """Print the rest of the text for good, and remove the spinner."""
        self._erase()
        self._print_block(self._open)
        self._open = ""

    def _draw_text(self) -> None:
        if not self._changed:
            return
        self._changed = False
        finished, self._open = split_finished_blocks(self._open)
        if finished:
            self._erase()
        for block in finished:
            self._print_block(block)
        self._draw(self._render(self._open))

    def _draw(self, lines: Sequence[Line]) -> None:
        """Draw lines in place of what is drawn; where the terminal is too low, the last lines."""
        if self._live is None:
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            atexit.register(self._live.stop)  # a second signal ends the process where it is
        shown = lines[-max(self.console.height - 2, 1) :]
        self._live.update(
            Segments([part for line in shown for part in (*line, Segment.line())]), refresh=True
        )

    def _erase(self) -> None:
        if self._live:
            self._live.stop()
            atexit.unregister(self._live.stop)
            self._live = None

    def _print_block(self, block: str) -> None:
        if block.strip():
            print_lines(self.console, self._render(block))
            self._has_text = True

    def _render(self, block: str) -> list[Line]:
        """Render the lines of a block, after an empty line."""
        return [[], *render_block(self.console, block)]

    def _make_spinner(self) -> Text:
        seconds = int(time.monotonic() - self._since)
        took = f" {seconds} s" if seconds else ""
        self._spinner.text = Text(
            f"{self._doing} ...{took}", style="dim", no_wrap=True, overflow="ellipsis"
        )
        shown = self._spinner.render(self.console.get_time())
        assert isinstance(shown, Text)
        shown.no_wrap = True
        shown.overflow = "ellipsis"
        return shown


_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_PARSER.disable(["reference", "image", "autolink"])
"""The parser of answers, in which HTML, images and <addresses> are text.

A line "[1]: https://..." does not make a link of each "[1]".
"""


class _Heading(Heading):
    """A heading at the left, of whatever level; Rich puts the first level in the middle."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heading = self.text.copy()
        heading.justify = "left"
        yield heading


class _ChatMarkdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        self.parsed = _PARSER.parse(make_printable(text))


def print_markdown(console: Console, text: str) -> None:
    """Print a text in Markdown, with an empty line between its blocks."""
    blocks, rest = split_finished_blocks(make_printable(text))
    gap: list[Line] = []
    for block in filter(str.strip, [*blocks, rest]):
        print_lines(console, [*gap, *render_block(console, block)])
        gap = [[]]


def render_block(console: Console, block: str) -> list[Line]:
    """Render a block of Markdown as lines of a terminal, without empty lines around them.

    Links show their address, and control characters a character that stands for them. Code is
    coloured in the terminal's own colours.
    """
    lines = render_lines(console, _ChatMarkdown(block))
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        del lines[0]
    return lines


def split_finished_blocks(text: str) -> tuple[list[str], str]:
    """Split the beginning of a text into the blocks that no further text can change, and the rest.

    A paragraph, a list or a table is finished when another block has begun.

    Args:
        text: in Markdown, without control characters.

    Returns:
        The blocks, which make up the text together with the rest.
    """
    starts = [token.map[0] for token in _PARSER.parse(text) if token.map and token.level == 0]
    lines = text.split("\n")
    bounds = [0, *starts[1:]]
    blocks = ["\n".join([*lines[start:end], ""]) for start, end in pairwise(bounds)]
    return blocks, "\n".join(lines[bounds[-1] :])
