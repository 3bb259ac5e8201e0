"""The progress of a step in words, for the log: how far it is, told now and then."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, count

from convrag.sdk.output.printable import format_duration

_TIMES = (10, 30, 60, 120, 240)
"""Seconds after which a line is written about a step."""

_PAUSE = 300
"""Seconds between the later lines."""


@dataclass
class StepProgress:
    """The progress of a step.

    Args:
        description: of the step: "Embedding cloud".
        total: the number of its parts; None where it is not known.
        done: the number of parts that are done.
        started: when it began, as time.monotonic() says it.
    """

    description: str
    total: int | None = None
    done: float = 0
    started: float = field(default_factory=time.monotonic)

    def describe(self, now: float) -> str:
        """Say how far the step is.

        "Embedding cloud: 2,048 of 9,990 (20 %) after 2 min, about 8 min left".
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


def tell_now_and_then(
    step: StepProgress,
    tell: Callable[[str], None],
    wait: Callable[[float], bool],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Tell of a step after 10, 30, 60, 120 and 240 s, and then every 5 minutes.

    Args:
        step: the step.
        tell: takes each line.
        wait: waits some seconds, and returns whether the step has ended.
        clock: returns the time, in seconds.
    """
    later_times = count(_TIMES[-1] + _PAUSE, _PAUSE)
    for due in chain(_TIMES, later_times):
        has_ended = wait(max(0.0, step.started + due - clock()))
        if has_ended:
            return
        tell(step.describe(clock()))
