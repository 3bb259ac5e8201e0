"""What is being done and how far it is: rows on a terminal, lines now and then elsewhere and in the
log.

All rows of a process stand in one display, whichever thread adds them: a bar of a grid's cells, one
of the turns, and below them a row for each step that takes a while (an index, a model that is
fitted).
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, TypeVar

from convrag.sdk.output.printable import format_duration

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


__all__ = ["count_parts", "hide_transformers_bars", "show_step", "track"]

T = TypeVar("T")

log = logging.getLogger(__name__)

_LOGGED = 1.0
"""Seconds after which a step is worth a line in the log."""


@dataclass
class CellProgress:
    """The cell of a grid that runs.

    Args:
        done: how many cells came before it.
        total: how many cells there are.
        alone: whether this is the only process that shows anything on the terminal; if not, nothing
            is shown.
        advance: moves the bar of the cells.
    """

    done: int
    total: int
    alone: bool
    advance: Callable[[float], None]


_cell: CellProgress | None = None
"""The cell that this process runs; None if it runs no grid."""

_lock = threading.RLock()
_display: Progress | None = None
_rows = 0


@contextmanager
def within_grid(done: int, total: int, *, alone: bool) -> Iterator[None]:
    """Show the progress of a grid above all other rows while the cell in the block runs; see
    CellProgress.
    """
    global _cell
    _cell = cell = CellProgress(done, total, alone, _ignore)
    try:
        with _row("Cells", total=total, done=done) as cell.advance:
            yield
    finally:
        _cell = None


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and show how many were taken, for work that takes a while: an index, a
    download.
    """
    with count_parts(description, total) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def count_parts(description: str, total: int | None) -> Iterator[Callable[[float], None]]:
    """Show how many parts of a step are done, for parts that are done several at once; yields a
    function to add some.

    The log has a line now and then while it runs and no inner step does, and one with its seconds
    at the end (see `tell_now_and_then`); standard error has the former, too, where it is no
    terminal.
    """
    step, ended = StepProgress(description, total), threading.Event()
    steps: list[StepProgress] = _open.__dict__.setdefault("steps", [])

    def tell_if_innermost(line: str) -> None:
        if steps[-1:] == [step]:
            _tell(line)

    teller = threading.Thread(
        target=tell_now_and_then,
        args=(step, tell_if_innermost, ended.wait),
        name="progress",
        daemon=True,
    )
    steps.append(step)
    teller.start()
    try:
        with _row(description, total=total) as advance_row:

            def advance(parts: float) -> None:
                step.done += parts
                advance_row(parts)

            yield advance
    finally:
        ended.set()
        steps.remove(step)
        if (seconds := time.monotonic() - step.started) >= _LOGGED:
            log.info("%s: %.1f s", description, seconds)


@contextmanager
def show_step(description: str) -> Iterator[None]:
    """Show that a step runs which has no parts to count, with the time that it has taken so far."""
    with count_parts(description, None):
        yield


@contextmanager
def turn_progress(total: int) -> Iterator[Callable[[], None]]:
    """Show the progress of a run; yields a function to call after each turn."""
    cell = _cell
    with count_parts("Turns", total) as advance_turns:

        def advance() -> None:
            with _lock:
                advance_turns(1)
                if cell:
                    cell.advance(1 / total)

        yield advance


def _tell(line: str) -> None:
    """Write a line to the log, and to standard error where no row is shown there."""
    if _cell is not None:
        line = f"cell {_cell.done + 1} of {_cell.total}: {line}"
    log.info("%s", line)
    if not _is_shown() and (_cell is None or _cell.alone):
        sys.stderr.write(f"convrag: {line}\n")


def _is_shown() -> bool:
    return (_cell is None or _cell.alone) and (_display is not None or _can_redraw())


def _can_redraw() -> bool:
    """Whether standard error is a terminal that can draw a line anew; under a `!command` in a
    notebook it cannot.
    """
    return (
        sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ
    )  # Jupyter sets it for its kernels


@contextmanager
def _row(
    description: str, *, total: int | None, done: int = 0
) -> Iterator[Callable[[float], None]]:
    """Add a row to the display, which is there while it has rows; yields a function that advances
    it.
    """
    if not _is_shown():
        yield _ignore
        return
    display, row = _add_row(description, total, done)
    try:
        yield lambda steps: display.advance(row, steps)
    finally:
        _remove_row(display, row)


def _ignore(steps: float) -> None:
    """Advance no row."""


def _add_row(description: str, total: int | None, done: int) -> tuple[Progress, TaskID]:
    global _display, _rows
    with _lock:
        if _display is None:
            from convrag.sdk.output.console import make_display

            _display = make_display()
            _display.start()
        _rows += 1
        return _display, _display.add_task(description, total=total, completed=done)


def _remove_row(display: Progress, row: TaskID) -> None:
    global _display, _rows
    with _lock:
        _rows -= 1
        if _rows:
            display.remove_task(row)
        else:  # the last row stays until the display is taken away, so that it is seen once as it ended
            _display = None
            display.stop()


@contextmanager
def hide_transformers_bars() -> Iterator[None]:
    """Switch off the progress bars of transformers, which it draws for local files and without a
    terminal, too.
    """
    from transformers.utils import logging as transformers_logging

    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


_TIMES = 10, 30, 60, 120, 240
"""Seconds after which a step is told of, and then each _PAUSE."""

_PAUSE = 300


@dataclass
class StepProgress:
    """How far a step is.

    Args:
        description: what is done: "Embedding cloud".
        total: its parts; None for a step whose parts are not known.
        done: the parts that are done.
        started: when it began, as time.monotonic() says it.
    """

    description: str
    total: int | None = None
    done: float = 0
    started: float = field(default_factory=time.monotonic)

    def describe(self, now: float) -> str:
        """Say how far it is: "Embedding cloud: 2,048 of 9,990 (20 %) after 2 min, about 8 min
        left".
        """
        elapsed = now - self.started
        after = f"after {format_duration(elapsed)}"
        if not self.done:
            return f"{self.description}: {format_duration(elapsed)} so far"
        if not self.total:
            return f"{self.description}: {self.done:,.0f} {after}"
        left = elapsed * max(self.total - self.done, 0) / self.done
        share = f"{self.done:,.0f} of {self.total:,} ({100 * self.done / self.total:.0f} %)"
        return f"{self.description}: {share} {after}, about {format_duration(left)} left"


_open = threading.local()
"""The steps in which a thread is, outer ones first: only the innermost is told of."""


def tell_now_and_then(
    step: StepProgress,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Tell of a step after 10, 30, 60, 120 and 240 s, and then every 5 minutes.

    Args:
        step: the step.
        tell: gets each line.
        wait: waits some seconds; True where the step has ended.
        clock: the time, in seconds.
    """
    for due in chain(_TIMES, count(_TIMES[-1] + _PAUSE, _PAUSE)):
        if wait(max(0.0, step.started + due - clock())):
            return
        tell(step.describe(clock()))
