"""The list of the turns of a run, in columns: what the page sorts and filters by before it opens a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convrag import TurnRecord
from convrag_web.report.turn_rows import list_missed

_DIGITS = 4


class TurnIndex:
    """Collects the columns, turn by turn."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._labels: dict[str, list[Any]] = {}
        self._scores: dict[str, list[float | None]] = {}

    def add(self, record: TurnRecord, scores: Mapping[str, float]) -> None:
        """Add a turn with its scores."""
        relevant = sum(grade > 0 for grade in record.gold.values())
        values = {
            "conversation": record.conversation_id,
            "domain": record.domain,
            "number": record.number,
            "question": record.original_query,
            "failed": int(bool(record.error)),
            "fell_back": sorted(record.fallbacks),
            "relevant": relevant,
            "found": relevant - sum(1 for _ in list_missed(record)),
            "seconds": round(sum(record.timings.values()), _DIGITS),
            "cost": round(sum(usage.cost_usd for usage in record.usage.values()), 6),
        }
        for name, value in values.items():
            self._columns[name].append(value)
        rounded = {name: round(value, _DIGITS) for name, value in scores.items()}
        _append(self._scores, rounded, len(self.turns))
        _append(self._labels, dict(record.labels), len(self.turns))
        self.turns.append(record.turn_id)

    def to_data(self) -> dict[str, Any]:
        """Return the columns; those of `labels` and `scores` have None for a turn without one."""
        return {"turn": self.turns, **self._columns, "labels": self._labels, "scores": self._scores}


_COLUMNS = (
    "conversation",
    "domain",
    "number",
    "question",
    "failed",
    "fell_back",
    "relevant",
    "found",
    "seconds",
    "cost",
)


def _append(columns: dict[str, list[Any]], values: Mapping[str, Any], length: int) -> None:
    for name in values:
        columns.setdefault(name, [None] * length)
    for name, column in columns.items():
        column.append(values.get(name))
