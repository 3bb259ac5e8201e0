"""How many results the store gained during a grid: counted apart from the cells' own counters, to check them."""

from __future__ import annotations

from convrag import Store, Sweep
from convrag.api.stages import GROUPS


class Stored:
    """Remembers where the store stood when each grid of this process began."""

    def __init__(self) -> None:
        self._marks: dict[str, int] = {}

    def begin(self, sweep: Sweep) -> None:
        """Note where the store stands now."""
        self._marks[sweep.id] = _store(sweep).last_row()

    def new(self, sweep: Sweep) -> dict[str, int] | None:
        """The results of calls that came since, one for each distinct call, by method; None where nobody knows."""
        if (mark := self._marks.pop(sweep.id, None)) is None:
            return None
        counted = _counted()
        return {kind: n for kind, n in _store(sweep).count_since(mark).items() if kind.rpartition(".")[2] in counted}


def _counted() -> set[str]:
    """The names of the methods that the kernel remembers and counts; stages also keep things of their own."""
    stages = set(GROUPS.values())
    return {name for stage in stages for name, member in vars(stage).items() if hasattr(member, "remembered")}


def _store(sweep: Sweep) -> Store:
    return Store(sweep.config["store"]["path"])
