"""The values of one metric as an array, and its scores of sets of turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING

import numpy as np

from convrag.api.errors import describe_fault
from convrag.api.stages import Metrics
from convrag.score.bootstrap import bootstrap_intervals

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MetricTable:
    """The values of one metric: (turns, measures), NaN if a measure does not apply to a turn.

    Args:
        metric: the metric.
        values_by_turn: measure -> value, for each turn.
    """

    def __init__(self, metric: Metrics, values_by_turn: Sequence[Mapping[str, float]]) -> None:
        self.metric = metric
        self.faults: dict[str, None] = {}
        """The errors of the metric, each once, in order."""
        self.measures = list(dict.fromkeys(name for values in values_by_turn for name in values))
        rows = [
            [float(values.get(name, nan)) for name in self.measures] for values in values_by_turn
        ]
        shape = (len(values_by_turn), len(self.measures))
        self.values = np.array(rows, dtype=np.float64).reshape(shape)

    def score(self, turns: Sequence[int]) -> dict[str, float]:
        """Compute the scores of some turns, given by their rows: measure -> score."""
        chosen = self.values[np.asarray(turns, dtype=np.int64)]
        means = [_compute_mean(chosen[:, column]) for column in range(len(self.measures))]
        return self._conclude(means)

    def compute_intervals(
        self, conversations: NDArray[np.int64], count: int
    ) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield (measure, (low, high)) for each score of all turns.

        Args:
            conversations: (turns,) the number of each turn's conversation, from 0.
            count: the number of conversations.
        """
        measures = list(self.score(range(len(self.values))))
        if not measures:
            return
        applies = ~np.isnan(self.values)
        sums = np.zeros((count, len(self.measures)))
        sizes = np.zeros((count, len(self.measures)))
        np.add.at(sums, conversations, np.where(applies, self.values, 0.0))
        np.add.at(sizes, conversations, applies)

        def conclude(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
            scores = np.full((len(resamples), len(measures)), nan)
            with_values = ~np.isnan(resamples).all(axis=1)
            for row in np.flatnonzero(with_values):
                concluded = self._conclude(resamples[row].tolist())
                scores[row] = [concluded.get(name, nan) for name in measures]
            return scores

        scores_are_means = type(self.metric).conclude is Metrics.conclude
        intervals = bootstrap_intervals(sums, sizes, None if scores_are_means else conclude)
        bounds = [(low, high) for low, high in intervals.tolist()]
        yield from zip(measures, bounds, strict=True)

    def _conclude(self, means: Iterable[float]) -> dict[str, float]:
        """Let the metric compute its scores from the means of its measures.

        NaN is neither a mean nor a score.
        """
        known = {
            name: mean for name, mean in zip(self.measures, means, strict=True) if not isnan(mean)
        }
        if not known:
            return {}
        try:
            concluded = dict(self.metric.conclude(known))
            return {name: float(score) for name, score in concluded.items() if isfinite(score)}
        except Exception as error:
            self.faults[describe_fault(error, type(self.metric), "conclude")] = None
            return {}


def _compute_mean(column: NDArray[np.float64]) -> float:
    """Compute the mean of the values that are not NaN.

    They are added in order, so that the sum has the same digits everywhere.
    """
    values = column[~np.isnan(column)].tolist()
    return sum(values) / len(values) if values else nan
