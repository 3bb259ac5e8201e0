"""The progress of steps that take a while: rows on a terminal, lines in the log.

The rows are a bar of a grid's cells, a bar of the turns, and one for each step below them, such as
an index that is built. Where there is no terminal, lines are written to standard error instead.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from convrag.sdk.output.progress_display import ProgressDisplay
from convrag.sdk.output.step_progress import StepProgress, tell_now_and_then

__all__ = ["count_parts", "show_step", "track"]

T = TypeVar("T")

log = logging.getLogger(__name__)

_LOGGED = 1.0
"""Seconds after which the end of a step is logged."""


@dataclass
class CellProgress:
    """The cell of a grid that runs.

    Args:
        done: the number of cells before it.
        total: the number of cells.
        alone: whether this is the only process that shows anything on the terminal. If it is not,
            nothing is shown.
        advance: moves the bar of the cells.
    """

    done: int
    total: int
    alone: bool
    advance: Callable[[float], None]


_cell: CellProgress | None = None
"""The cell that this process runs; None if it runs no grid."""

_display = ProgressDisplay()
_advance_lock = threading.RLock()

_steps = threading.local()
"""The steps in which a thread is, outer ones first: only the innermost writes lines."""


@contextmanager
def within_grid(done: int, total: int, *, alone: bool) -> Iterator[None]:
    """Show the progress of a grid above all other rows while the block runs a cell of it.

    The arguments are those of CellProgress.
    """
    global _cell
    _cell = cell = CellProgress(done, total, alone, _ignore)
    try:
        with _show_row("Cells", total, done) as cell.advance:
            yield
    finally:
        _cell = None


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items of a step that takes a while, and show how many were taken."""
    with count_parts(description, total) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def count_parts(description: str, total: int | None) -> Iterator[Callable[[float], None]]:
    """Show how many parts of a step are done; yields a function that adds some.

    The log has a line now and then while the step runs and no inner step does (see
    `tell_now_and_then`), and one with its seconds at the end. Where standard error is not a
    terminal, it has the former lines as well.

    Args:
        description: of the step.
        total: the number of its parts; None where it is not known.
    """
    step = StepProgress(description, total)
    ended = threading.Event()
    steps: list[StepProgress] = _steps.__dict__.setdefault("open", [])
    steps.append(step)

    def tell_if_innermost(line: str) -> None:
        if steps and steps[-1] is step:
            _tell(line)

    teller = threading.Thread(
        target=tell_now_and_then,
        args=(step, tell_if_innermost, ended.wait),
        name="progress",
        daemon=True,
    )
    teller.start()
    try:
        with _show_row(description, total) as advance_row:

            def advance(parts: float) -> None:
                step.done += parts
                advance_row(parts)

            yield advance
    finally:
        ended.set()
        steps.remove(step)
        seconds = time.monotonic() - step.started
        if seconds >= _LOGGED:
            log.info("%s: %.1f s", description, seconds)


@contextmanager
def show_step(description: str) -> Iterator[None]:
    """Show that a step runs whose parts are not counted, with the time that it has taken."""
    with count_parts(description, None):
        yield


@contextmanager
def turn_progress(total: int) -> Iterator[Callable[[], None]]:
    """Show the progress of a run; yields a function to call after each turn."""
    cell = _cell
    with count_parts("Turns", total) as advance_turns:

        def advance() -> None:
            with _advance_lock:
                advance_turns(1)
                if cell:
                    cell.advance(1 / total)

        yield advance


def _tell(line: str) -> None:
    """Write a line to the log, and to standard error where no row is shown there."""
    if _cell is not None:
        line = f"cell {_cell.done + 1} of {_cell.total}: {line}"
    log.info("%s", line)
    if _may_write() and not _display.can_show():
        sys.stderr.write(f"convrag: {line}\n")


def _may_write() -> bool:
    """Whether the terminal is this process's: cells that run at once would overwrite each other."""
    return _cell is None or _cell.alone


@contextmanager
def _show_row(
    description: str, total: int | None, done: int = 0
) -> Iterator[Callable[[float], None]]:
    """Show a row if that can be; yields a function that advances it."""
    if not (_may_write() and _display.can_show()):
        yield _ignore
        return
    with _display.show_row(description, total, done) as advance:
        yield advance


def _ignore(steps: float) -> None:
    """Advance no row."""
