"""The scores of sets of turns: all turns, by domain, by turn position, by label."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from convrag.api.records import Slice, TurnRecord
from convrag.api.stages import Metrics
from convrag.score.measuring import Values
from convrag.score.metric_table import MetricTable

TURN = "turn"
"""The name of the slices by turn position."""

_MAX_VALUES = 30
"""The most values of a label; one with more identifies turns instead of grouping them."""


@dataclass(frozen=True)
class ScoredTurn:
    """A turn and its scores by all metrics."""

    turn_id: str
    conversation_id: str
    domain: str
    number: int
    labels: Mapping[str, Any]
    scores: Mapping[str, float]


class Scores:
    """The turns that metrics have scored, and the scores of sets of them.

    Args:
        records: the records of the run.
        metrics: the metrics by name.
        values: metric -> the values that it measured. No two metrics have a measure in common.
    """

    def __init__(
        self,
        records: Iterable[TurnRecord],
        metrics: Mapping[str, Metrics],
        values: Mapping[str, Values],
    ) -> None:
        scored = (_score_turn(record, values.values()) for record in records)
        self.turns = [turn for turn in scored if turn.scores]
        self._tables: dict[str, MetricTable] = {}
        for name, measured in values.items():
            by_turn = [measured.get(turn.turn_id, {}) for turn in self.turns]
            self._tables[name] = MetricTable(metrics[name], by_turn)

    @property
    def faults(self) -> dict[str, str]:
        """The errors of metrics that concluded from means, by metric; their scores are missing."""
        return {
            name: "; ".join(table.faults) for name, table in self._tables.items() if table.faults
        }

    def score_all(self) -> Slice:
        """Score all turns."""
        return self._score(range(len(self.turns)))

    def score_domains(self) -> dict[str, Slice]:
        """Score the turns of each domain, in order of appearance."""
        return self._score_groups([[turn.domain] for turn in self.turns])

    def score_slices(self) -> dict[str, dict[str, Slice]]:
        """Score the turns at each position and with each value of each label.

        A turn whose label is a list counts for each of its values. Labels with one value only, or
        with more than 30, are left out.

        Returns:
            Label -> value -> slice; the positions have the label "turn".
        """
        if not self.turns:
            return {}
        slices = {TURN: self._score_groups([[turn.number] for turn in self.turns])}
        labels = dict.fromkeys(name for turn in self.turns for name in turn.labels)
        for label in labels:
            if label == TURN:
                continue
            values = [_list_label_values(turn.labels.get(label)) for turn in self.turns]
            distinct = {value for each in values for value in each}
            differs = len({tuple(each) for each in values}) > 1
            if differs and len(distinct) <= _MAX_VALUES:
                slices[label] = self._score_groups(values)
        return slices

    def compute_intervals(self) -> dict[str, tuple[float, float]]:
        """Compute measure -> 95 % interval. Measures without one are left out."""
        ids = list(dict.fromkeys(turn.conversation_id for turn in self.turns))
        numbers = {id: number for number, id in enumerate(ids)}
        conversations = np.array(
            [numbers[turn.conversation_id] for turn in self.turns], dtype=np.int64
        )
        intervals: dict[str, tuple[float, float]] = {}
        for table in self._tables.values():
            for measure, (low, high) in table.compute_intervals(conversations, len(ids)):
                if not isnan(low):
                    intervals.setdefault(measure, (low, high))
        return intervals

    def find_main_measures(self) -> tuple[str, ...]:
        """Return the measure that represents each metric: the first that it lists, or has."""
        every_turn = range(len(self.turns))
        main = []
        for table in self._tables.values():
            measured = list(table.score(every_turn))
            if measured:
                listed = [name for name in table.metric.list_measures() if name in measured]
                main.append(listed[0] if listed else measured[0])
        return tuple(main)

    def _score_groups(self, values: Sequence[Sequence[Any]]) -> dict[str, Slice]:
        """Score the turns with each value, given the values of each turn.

        Numbers come sorted, other values in order of appearance.
        """
        members: dict[Any, list[int]] = {}
        for index, several in enumerate(values):
            for value in several:
                members.setdefault(value, []).append(index)
        order = list(members)
        if all(isinstance(value, int) for value in members):
            order.sort()
        return {str(value): self._score(members[value]) for value in order}

    def _score(self, turns: Sequence[int]) -> Slice:
        scores: dict[str, float] = {}
        for table in self._tables.values():
            for measure, score in table.score(turns).items():
                scores.setdefault(measure, score)
        return Slice(len(turns), scores)


def _score_turn(record: TurnRecord, values_of_metrics: Iterable[Values]) -> ScoredTurn:
    """Collect the scores that all metrics gave to a turn."""
    scores: dict[str, float] = {}
    for values in values_of_metrics:
        scores.update(values.get(record.turn_id, {}))
    return ScoredTurn(
        record.turn_id, record.conversation_id, record.domain, record.number, record.labels, scores
    )


def _list_label_values(value: Any) -> list[Any]:
    """List the values of a label, each once: a whole number as it is, everything else as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if value is None:
        return []
    values = value if isinstance(value, (list, tuple)) else [value]
    texts = dict.fromkeys(str(each) for each in values)
    return [text for text in texts if text]
