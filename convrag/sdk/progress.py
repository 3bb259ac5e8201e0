"""Progress bars, shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

_cells: tuple[int, int] | None = None
"""The numbers of finished and of all cells of the grid that this process runs; None if it runs no grid."""

_hidden = False


@contextmanager
def within_grid(done: int, total: int, *, alone: bool) -> Iterator[None]:
    """Show the progress of a grid beside the bar of each run in the block.

    Args:
        done: the number of cells of the grid before this run.
        total: the number of all cells.
        alone: whether this is the only process that shows bars on the terminal; if not, no bars are shown.
    """
    global _cells, _hidden
    _cells, _hidden = (done, total), not alone
    try:
        yield
    finally:
        _cells, _hidden = None, False


def make_progress() -> Progress | None:
    """Make a progress display on standard error, not yet started; None if that is not a terminal or bars are hidden."""
    if _hidden or not sys.stderr.isatty():
        return None
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from convrag.sdk.console import make_console

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=make_console(stderr=True), transient=True)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and show a progress bar, for work that takes a while: an index, a download."""
    if (display := make_progress()) is None:
        yield from items
        return
    with display:
        yield from display.track(items, total=total, description=description)


@contextmanager
def turn_progress(total: int) -> Iterator[Callable[[], None]]:
    """Show the progress of a run; yields a function to call after each turn.

    In a grid, a second bar shows the progress of all cells. Its remaining time is estimated from the pace of this run.
    """
    if (display := make_progress()) is None:
        yield lambda: None
        return
    rows = []
    if _cells and total:
        done, cells = _cells
        rows.append((display.add_task("Cells", total=cells, completed=done), 1 / total))
    rows.append((display.add_task("Turns", total=total), 1.0))

    def advance() -> None:
        for row, step in rows:
            display.advance(row, step)

    with display:
        yield advance


@contextmanager
def hide_transformers_bars() -> Iterator[None]:
    """Switch off the progress bars of transformers, which it draws for local files and without a terminal, too."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
