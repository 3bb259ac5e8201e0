"""How far a step or a cell of a grid is, and how long it will take yet, in words; lines that say so now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class CellProgress:
    """The cell of a grid that runs, and what is known of how long cells take.

    Args:
        done: how many cells came before it.
        total: how many cells there are.
        alone: whether this is the only process that shows anything on the terminal; if not, nothing is shown.
        seconds: how long each cell took that ran to its end since the grid started, without the preparation of stages.
        started: when this cell began, as time.monotonic() says it.
        turns_started: when its first turn began; 0 before.
        share: of its turns that are done, from 0 to 1.
        prepared: seconds that this cell spent on the preparation of stages, which the cells after it mostly share.
        preparing: whether a stage is being prepared; nobody knows for how long.
        advance: moves the bar of the cells.
    """

    done: int
    total: int
    alone: bool
    seconds: Sequence[float]
    started: float = field(default_factory=time.monotonic)
    turns_started: float = 0.0
    share: float = 0.0
    prepared: float = 0.0
    preparing: bool = False
    advance: Callable[[float], None] = lambda steps: None

    def estimate_left(self, now: float) -> float | None:
        """Seconds until the grid ends; None while no cell has ended that says how long one takes, and in preparation.

        This cell will take as long as the others, or as its own turns say once some are done, and never less than it
        has taken already. Those that follow take the mean of what is known, this cell included.
        """
        if not self.seconds or self.preparing:
            return None
        elapsed = now - self.started - self.prepared
        whole = sum(self.seconds) / len(self.seconds)
        if self.share:
            before = self.turns_started - self.started - self.prepared
            whole = before + (elapsed - before) / self.share
        whole = max(whole, elapsed)
        others = (sum(self.seconds) + whole) / (len(self.seconds) + 1)
        return whole - elapsed + others * (self.total - self.done - 1)


def format_duration(seconds: float) -> str:
    """Seconds in the unit that reads best: "0.4 s", "12 s", "3 min", "2.5 h"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


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
        """Say how far it is: "Embedding cloud: 2,048 of 9,990 (20 %) after 2 min, about 8 min left"."""
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


@contextmanager
def tell_progress(step: StepProgress, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell of a step now and then, from another thread, as long as the block runs and no inner step does."""
    steps: list[StepProgress] = _open.__dict__.setdefault("steps", [])
    ended = threading.Event()

    def tell_if_innermost(line: str) -> None:
        if steps and steps[-1] is step:
            tell(line)

    teller = threading.Thread(
        target=tell_now_and_then, args=(step, tell_if_innermost, ended.wait), name="progress", daemon=True
    )
    steps.append(step)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        steps.remove(step)


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
    due = list(_TIMES)
    while not wait(max(0.0, step.started + due[0] - clock())):
        tell(step.describe(clock()))
        due.append(due[-1] + _PAUSE)
        del due[0]
