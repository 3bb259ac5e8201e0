"""How many results the store gained during a grid: counted apart from the cells' own counters, to check them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from convrag.stages import GROUPS
from convrag.types import Sweep


class Stored:
    """Remembers where the store stood when each grid of this process began."""

    def __init__(self) -> None:
        self._marks: dict[str, int] = {}

    def begin(self, sweep: Sweep) -> None:
        """Note where the store stands now."""
        rows = _rows(sweep, "SELECT 'all', coalesce(max(rowid), 0) FROM entries", ())
        self._marks[sweep.id] = rows[0][1] if rows else 0

    def new(self, sweep: Sweep) -> dict[str, int] | None:
        """The results of calls that came since, one for each distinct call, by method; None where nobody knows."""
        if (mark := self._marks.pop(sweep.id, None)) is None:
            return None
        statement = "SELECT kind, count(*) FROM entries WHERE rowid > ? GROUP BY kind ORDER BY kind"
        gained = dict(_rows(sweep, statement, (mark,)))
        return {kind: count for kind, count in gained.items() if kind.rpartition(".")[2] in _counted()}


def _counted() -> set[str]:
    """The names of the methods that the kernel remembers and counts; stages also keep things of their own."""
    stages = set(GROUPS.values())
    return {name for stage in stages for name, member in vars(stage).items() if hasattr(member, "remembered")}


def _rows(sweep: Sweep, statement: str, values: tuple[int, ...]) -> list[tuple[str, int]]:
    path = Path(str(sweep.config["store"]["path"])).absolute() / "store.sqlite"
    if not path.exists():
        return []
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()
