"""Progress bars on a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

# Of the grid that this process works on: how many cells come before the one at hand, and how many there are.
_cells: tuple[int, int] | None = None
_hidden = False


@contextmanager
def within_grid(done: int, total: int, *, alone: bool) -> Iterator[None]:
    """What happens meanwhile is the run of a cell.

    Args:
        done: how many cells of the grid come before it.
        total: all cells.
        alone: whether no other process shows bars on this terminal; otherwise none are shown.
    """
    global _cells, _hidden
    _cells, _hidden = (done, total), not alone
    try:
        yield
    finally:
        _cells, _hidden = None, False


def progress_bar() -> Progress | None:
    """A progress display on standard error, not yet started; None where nobody would see it."""
    if _hidden or not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, showing how far we are; for work that a user would wonder about (an index, a download)."""
    if (display := progress_bar()) is None:
        yield from items
        return
    with display:
        yield from display.track(items, total=total, description=description)


@contextmanager
def turn_progress(total: int) -> Iterator[Callable[[], None]]:
    """A function to call after each turn of a run; in a grid, a second bar says how far all cells are.

    What the grid has left to do is reckoned by the pace of this cell.
    """
    if (display := progress_bar()) is None:
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
