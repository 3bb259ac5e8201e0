"""How long a grid will take yet, and seconds in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
