"""The rows of progress on a terminal, all in one display."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


class ProgressDisplay:
    """A display of rows, which is on the terminal as long as it has any.

    All rows of a process are in one display, whichever thread adds them: two would overwrite each
    other.

    Attributes:
        shown: Rich's display; None while there are no rows.
        rows: the number of rows.
    """

    def __init__(self) -> None:
        self.shown: Progress | None = None
        self.rows = 0
        self._lock = threading.RLock()

    def can_show(self) -> bool:
        """Whether rows are shown, or standard error is a terminal that can draw a line anew."""
        if self.shown is not None:
            return True
        is_notebook = "JPY_PARENT_PID" in os.environ  # Jupyter sets it for a `!command`
        return sys.stderr.isatty() and not is_notebook

    @contextmanager
    def show_row(
        self, description: str, total: int | None, done: int = 0
    ) -> Iterator[Callable[[float], None]]:
        """Show a row while the block runs; yields a function that advances it.

        Args:
            description: of the step.
            total: the number of its parts; None where it is not known.
            done: the number of parts that are done already.
        """
        with self._lock:
            if self.shown is None:
                from convrag.sdk.output.progress_columns import make_display

                self.shown = make_display()
                self.shown.start()
            self.rows += 1
            shown = self.shown
            row = shown.add_task(description, total=total, completed=done)
        try:
            yield lambda parts: shown.advance(row, parts)
        finally:
            with self._lock:
                self.rows -= 1
                if self.rows:
                    shown.remove_task(row)
                else:  # the last row stays until the display ends, so that its end is seen
                    self.shown = None
                    shown.stop()
