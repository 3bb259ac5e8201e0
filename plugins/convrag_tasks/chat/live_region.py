"""The last lines of a terminal, which are drawn anew while something goes on: a spinner, the end of an answer."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from math import ceil

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType, Segment

from convrag_tasks.chat.terminal_lines import Line, print_lines


class LiveRegion:
    """The last lines of a terminal. What is printed for good goes above them, after `erase`.

    Unlike Rich's Live it finds its lines again when the terminal has become narrower: a line that was drawn then takes
    several rows.

    Args:
        console: prints on a terminal.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._widths: list[int] = []  # of the lines that are shown, in columns

    def draw(self, lines: Sequence[Line]) -> None:
        """Show lines in place of those that are shown; where the terminal is too low, the last ones."""
        shown = lines[-max(self.console.height - 2, 1) :]
        with self.console:  # all of it in one write, so that nothing flickers
            self.erase()
            self.console.show_cursor(False)
            print_lines(self.console, shown)
        self._widths = [Segment.get_line_length(line) for line in shown]
        atexit.unregister(self._show_cursor)
        atexit.register(self._show_cursor)  # a second signal ends the process where it is

    def erase(self) -> None:
        """Remove what is shown; the cursor is where it began."""
        if not self._widths:
            return
        columns = max(self.console.width, 1)
        rows = sum(max(ceil(width / columns), 1) for width in self._widths)
        up = [(ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)]
        self._widths = []
        self.console.control(Control(ControlType.CARRIAGE_RETURN, *up * rows))

    def close(self) -> None:
        """Remove what is shown, and show the cursor again."""
        self.erase()
        self._show_cursor()
        atexit.unregister(self._show_cursor)

    def _show_cursor(self) -> None:
        self.console.show_cursor(True)
