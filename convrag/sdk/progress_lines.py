"""How far a step is, and how long it will take yet, in words; lines that say so now and then."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


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
