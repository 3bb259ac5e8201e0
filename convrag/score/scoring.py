"""The scores of sets of turns: the mean of each measure, what metrics conclude from the means, and
intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.api.errors import describe_fault
from convrag.api.records import Slice, TurnRecord
from convrag.api.stages import Metrics
from convrag.score.measuring import Values

if TYPE_CHECKING:
    from numpy.typing import NDArray


TURN = "turn"
_DISTINCT = 30  # a label with more values identifies turns instead of grouping them


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
        self.turns = [
            turn for record in records if (turn := _score_turn(record, values.values())).scores
        ]
        self._tables = {
            name: _MetricTable(metrics[name], values[name], self.turns) for name in values
        }

    @property
    def faults(self) -> dict[str, str]:
        """Metric -> what went wrong when it concluded from means, so that scores of its are
        missing.
        """
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
        """Score the turns at each turn position and with each value of each label: label -> value
        -> slice.

        Labels that have one value or more than 30 are left out. A turn whose label is a list counts
        for each of its values.
        """
        slices = (
            {TURN: self._score_groups([[turn.number] for turn in self.turns])} if self.turns else {}
        )
        for label in dict.fromkeys(
            name for turn in self.turns for name in turn.labels if name != TURN
        ):
            values = [_list_label_values(turn.labels.get(label)) for turn in self.turns]
            if (
                len(set(map(tuple, values))) > 1
                and len({value for each in values for value in each}) <= _DISTINCT
            ):
                slices[label] = self._score_groups(values)
        return slices

    def compute_intervals(self) -> dict[str, tuple[float, float]]:
        """Compute measure -> 95 % interval by a bootstrap over conversations. Measures without one
        are absent.
        """
        rows = {
            name: row
            for row, name in enumerate(dict.fromkeys(turn.conversation_id for turn in self.turns))
        }
        conversations = np.array(
            [rows[turn.conversation_id] for turn in self.turns], dtype=np.int64
        )
        intervals: dict[str, tuple[float, float]] = {}
        for table in self._tables.values():
            for measure, (low, high) in table.compute_intervals(conversations, len(rows)):
                if not isnan(low):
                    intervals.setdefault(measure, (low, high))
        return intervals

    def find_main_measures(self) -> tuple[str, ...]:
        """The measure that stands for each metric that scored a turn: the first that it lists, or
        gives.
        """
        every = range(len(self.turns))
        given = [
            (table.metric.list_measures(), list(table.score(every)))
            for table in self._tables.values()
        ]
        return tuple(
            next((name for name in listed if name in measures), measures[0])
            for listed, measures in given
            if measures
        )

    def _score_groups(self, values: Sequence[Sequence[Any]]) -> dict[str, Slice]:
        """Score the turns with each value, given the values of each turn. Numbers come sorted,
        others in order.
        """
        members: dict[Any, list[int]] = {}
        for index, several in enumerate(values):
            for value in several:
                members.setdefault(value, []).append(index)
        order = sorted(members) if all(isinstance(value, int) for value in members) else members
        return {str(value): self._score(members[value]) for value in order}

    def _score(self, turns: Sequence[int]) -> Slice:
        scores: dict[str, float] = {}
        for table in self._tables.values():
            for measure, score in table.score(turns).items():
                scores.setdefault(measure, score)
        return Slice(len(turns), scores)


class _MetricTable:
    """The values of one metric as an array: (turns, measures), NaN where a measure does not apply
    to a turn.
    """

    def __init__(self, metric: Metrics, values: Values, turns: Sequence[ScoredTurn]) -> None:
        self.metric = metric
        self.faults: dict[str, None] = {}  # in order, each once
        scores_by_turn = [values.get(turn.turn_id, {}) for turn in turns]
        self.measures = list(dict.fromkeys(name for scores in scores_by_turn for name in scores))
        rows = [
            [float(scores.get(name, nan)) for name in self.measures] for scores in scores_by_turn
        ]
        self.values = np.array(rows, dtype=np.float64).reshape(len(turns), len(self.measures))

    def score(self, turns: Sequence[int]) -> dict[str, float]:
        """Compute the scores of some turns, given by their rows: measure -> score."""
        chosen = self.values[np.asarray(turns, dtype=np.int64)]
        return self._conclude(
            [_compute_mean(chosen[:, column]) for column in range(len(self.measures))]
        )

    def compute_intervals(
        self, conversations: NDArray[np.int64], count: int
    ) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield (measure, (low, high)) for each score of all turns.

        Args:
            conversations: (turns,) the number of each turn's conversation, from 0.
            count: how many conversations there are.
        """
        measures = list(self.score(range(len(self.values))))
        if not measures:
            return
        applies = ~np.isnan(self.values)
        sums, sizes = (np.zeros((count, len(self.measures))) for _ in range(2))
        np.add.at(sums, conversations, np.where(applies, self.values, 0.0))
        np.add.at(sizes, conversations, applies)

        def conclude(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
            scores = np.full((len(resamples), len(measures)), nan)
            for row in np.flatnonzero(
                ~np.isnan(resamples).all(axis=1)
            ):  # of nothing, nothing is concluded
                concluded = self._conclude(resamples[row].tolist())
                scores[row] = [concluded.get(name, nan) for name in measures]
            return scores

        scores_are_means = type(self.metric).conclude is Metrics.conclude
        intervals = bootstrap_intervals(sums, sizes, None if scores_are_means else conclude)
        yield from zip(measures, map(tuple, intervals.tolist()), strict=True)

    def _conclude(self, means: Iterable[float]) -> dict[str, float]:
        """Let the metric compute its scores from the means of its measures; NaN is no mean and no
        score.
        """
        known = {
            name: mean for name, mean in zip(self.measures, means, strict=True) if not isnan(mean)
        }
        try:
            concluded = dict(self.metric.conclude(known)) if known else {}
            return {name: float(score) for name, score in concluded.items() if isfinite(score)}
        except Exception as error:
            self.faults[describe_fault(error, type(self.metric), "conclude")] = None
            return {}


def _score_turn(record: TurnRecord, values_of_metrics: Iterable[Values]) -> ScoredTurn:
    """Collect the scores that all metrics gave to a turn."""
    scores = {
        name: value
        for values in values_of_metrics
        for name, value in values.get(record.turn_id, {}).items()
    }
    return ScoredTurn(
        record.turn_id, record.conversation_id, record.domain, record.number, record.labels, scores
    )


def _compute_mean(column: NDArray[np.float64]) -> float:
    """Compute the mean of the values that are not NaN. They are added in order, so that the sum has
    the same digits.
    """
    values = column[~np.isnan(column)].tolist()
    return sum(values) / len(values) if values else nan


def _list_label_values(value: Any) -> list[Any]:
    """List the values of a label, each once: a whole number as it is, everything else as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [text for text in dict.fromkeys(map(str, values)) if text]


RESAMPLES = 10_000

LEAST = 5
"""With fewer conversations there is no interval: four can be drawn in 35 ways only, and most draws
repeat one.
"""

TOO_FEW = f"n < {LEAST} conversations"
"""What is said in its place."""

_CHUNK = 500
"""The number of resamples at once, with no more than so many draws in all: a million conversations
fit into memory.
"""
_DRAWS = 5_000_000
_SEED = 0

Conclude = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""(m, k) means of m resamples -> (m, j) scores that are computed from them."""


def bootstrap_intervals(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], conclude: Conclude | None = None
) -> NDArray[np.float64]:
    """Compute 95 % intervals of k means over turns: a percentile bootstrap that draws conversations
    with replacement.

    Args:
        sums: (n, k) the sums over the turns of each of n conversations.
        sizes: (n, k) the numbers of these turns.
        conclude: computes j scores from the k means of each resample; without it, the scores are
            the means.

    Returns:
        (j, 2) the 2.5th and the 97.5th percentile; NaN where fewer than five conversations have
        turns.
    """
    too_few = (sizes > 0).sum(axis=0) < LEAST
    if too_few.all():  # nothing to draw 10,000 times
        means = np.full((1, sums.shape[1]), nan)
    else:
        means = _resample_means(sums, sizes)
        means[:, too_few] = nan
    scores = conclude(means) if conclude else means
    intervals = np.full((scores.shape[1], 2), nan)
    for column in range(scores.shape[1]):
        values = scores[:, column]
        if len(values := values[~np.isnan(values)]):
            intervals[column] = np.quantile(values, [0.025, 0.975])
    return intervals


def _resample_means(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute (RESAMPLES, k) means, a row for each resample; NaN where a resample has no turn of a
    measure.
    """
    count = len(sums)
    means = np.full((RESAMPLES, sums.shape[1]), nan)
    generator = np.random.default_rng(_SEED)
    chunk = max(1, min(_CHUNK, _DRAWS // max(count, 1)))
    for start in range(0, RESAMPLES if count > 1 else 0, chunk):
        size = min(chunk, RESAMPLES - start)
        weights = generator.multinomial(count, np.full(count, 1 / count), size=size).astype(
            np.float64
        )
        with np.errstate(invalid="ignore"):
            means[start : start + size] = (weights @ sums) / (weights @ sizes)
    return means
