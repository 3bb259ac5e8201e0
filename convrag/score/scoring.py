"""What metrics gave the turns of a run: means over sets of turns, what follows from them, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.api.records import Slice, TurnRecord
from convrag.api.stages import Metrics
from convrag.score.bootstrap import intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray

Values = Mapping[str, Mapping[str, float]]
"""Turn id -> measure -> value."""

TURN = "turn"
_DISTINCT = 30  # a label with more values names turns rather than kinds of them


@dataclass(frozen=True)
class ScoredTurn:
    """Who a turn is, and what all metrics gave it."""

    turn_id: str
    conversation_id: str
    domain: str
    number: int
    labels: Mapping[str, Any]
    scores: Mapping[str, float]


class Scores:
    """The turns that were scored.

    Args:
        records: those of the run.
        measured: each metric, with what it gave.
    """

    def __init__(self, records: Iterable[TurnRecord], measured: Sequence[tuple[Metrics, Values]]) -> None:
        given = [values for _, values in measured]
        self.turns = [turn for record in records if (turn := _scored(record, given)).scores]
        self._tables = [_Table(metric, values, self.turns) for metric, values in measured]

    def overall(self) -> Slice:
        """All of them."""
        return self._slice(range(len(self.turns)))

    def by_domain(self) -> dict[str, Slice]:
        """Those of each domain, in order of appearance."""
        return self._by([[turn.domain] for turn in self.turns])

    def slices(self) -> dict[str, dict[str, Slice]]:
        """Those at each turn position, and with each value of each label; labels of one value or of very many but not.

        A turn whose label has several values, in a list, is one of those of each.
        """
        found = {TURN: self._by([[turn.number] for turn in self.turns])} if self.turns else {}
        for label in dict.fromkeys(name for turn in self.turns for name in turn.labels if name != TURN):
            values = [_values(turn.labels.get(label)) for turn in self.turns]
            if len(set(map(tuple, values))) > 1 and len({value for each in values for value in each}) <= _DISTINCT:
                found[label] = self._by(values)
        return found

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Measure -> its 95 % interval, by a bootstrap over conversations; none where it cannot be had."""
        rows = {name: row for row, name in enumerate(dict.fromkeys(turn.conversation_id for turn in self.turns))}
        where = np.array([rows[turn.conversation_id] for turn in self.turns], dtype=np.int64)
        found = [bounds for table in self._tables for bounds in table.intervals(where, len(rows))]
        return {measure: (low, high) for measure, (low, high) in found if not isnan(low)}

    def _by(self, values: Sequence[Sequence[Any]]) -> dict[str, Slice]:
        """The turns by their values: numbers in their order, others in the order of their first turns."""
        members: dict[Any, list[int]] = {}
        for index, several in enumerate(values):
            for value in several:
                members.setdefault(value, []).append(index)
        order = sorted(members) if all(isinstance(value, int) for value in members) else members
        return {str(value): self._slice(members[value]) for value in order}

    def _slice(self, turns: Sequence[int]) -> Slice:
        scores: dict[str, float] = {}
        for table in self._tables:
            scores |= table.over(turns)
        return Slice(len(turns), scores)


class _Table:
    """One metric's values as an array: (turns, measures), NaN where a measure does not apply."""

    def __init__(self, metric: Metrics, values: Values, turns: Sequence[ScoredTurn]) -> None:
        self.metric = metric
        given = [values.get(turn.turn_id, {}) for turn in turns]
        self.measures = list(dict.fromkeys(name for scores in given for name in scores))
        rows = [[float(scores.get(name, nan)) for name in self.measures] for scores in given]
        self.values = np.array(rows, dtype=np.float64).reshape(len(turns), len(self.measures))

    def over(self, turns: Sequence[int]) -> dict[str, float]:
        """What the values of some turns come to."""
        chosen = self.values[np.asarray(turns, dtype=np.int64)]
        return self._conclude([_mean(chosen[:, column]) for column in range(len(self.measures))])

    def intervals(self, conversations: NDArray[np.int64], count: int) -> Iterator[tuple[str, tuple[float, float]]]:
        """(measure, (low, high)) of each number that all turns come to."""
        shown = list(self.over(range(len(self.values))))
        if not shown:
            return
        there = ~np.isnan(self.values)
        sums, sizes = (np.zeros((count, len(self.measures))) for _ in range(2))
        np.add.at(sums, conversations, np.where(there, self.values, 0.0))
        np.add.at(sizes, conversations, there)

        def follow(draws: NDArray[np.float64]) -> NDArray[np.float64]:
            concluded = [self._conclude(means) for means in draws.tolist()]
            return np.array([[numbers.get(name, nan) for name in shown] for numbers in concluded])

        plain = type(self.metric).conclude is Metrics.conclude
        bounds = intervals(sums, sizes, None if plain else follow)
        yield from zip(shown, map(tuple, bounds.tolist()), strict=True)

    def _conclude(self, means: Iterable[float]) -> dict[str, float]:
        known = {name: mean for name, mean in zip(self.measures, means, strict=True) if not isnan(mean)}
        return dict(self.metric.conclude(known)) if known else {}


def _scored(record: TurnRecord, given: Sequence[Values]) -> ScoredTurn:
    scores = {name: value for values in given for name, value in values.get(record.turn_id, {}).items()}
    return ScoredTurn(record.turn_id, record.conversation_id, record.domain, record.number, record.labels, scores)


def _mean(column: NDArray[np.float64]) -> float:
    """The mean of what is there, summed in order, so that it is the same in every place that adds it up."""
    there = column[~np.isnan(column)].tolist()
    return sum(there) / len(there) if there else nan


def _values(value: Any) -> list[Any]:
    """The values of a label, each once: text, and numbers, which have an order."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    given = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [text for text in dict.fromkeys(map(str, given)) if text]
