"""Progress bars on a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")


def bar() -> Progress | None:
    """A progress display on standard error, not yet started; None where nobody would see it."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, showing how far we are; for work that a user would wonder about (an index, a download)."""
    if (display := bar()) is None:
        yield from items
        return
    with display:
        yield from display.track(items, total=total, description=description)
