"""Shows an answer while it is generated: the stage at work, then the text in Markdown.

Control characters are made visible, so that nothing is hidden in an answer.
"""

import atexit
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.live import Live
from rich.segment import Segment, Segments
from rich.spinner import Spinner
from rich.text import Text

from convrag.sdk.output.printable import make_printable
from convrag_tasks.chat.markdown import render_block, split_finished_blocks
from convrag_tasks.chat.terminal_lines import Line, print_lines, render_lines

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

    def restart(self, reason: str) -> None:
        """Begin the answer anew: the pieces until now are not part of it. The reason is printed."""
        self.close()
        self.text = ""
        self.print_line(reason, "yellow")

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
        self._has_text = False

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
