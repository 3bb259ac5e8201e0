"""Confidence intervals by a bootstrap over conversations."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000

LEAST = 5
"""The smallest number of conversations with an interval.

Four can be drawn in 35 ways only, and most draws repeat one.
"""

TOO_FEW = f"n < {LEAST} conversations"
"""The reason for which there is no interval."""

_CHUNK = 500
"""The most resamples at once."""

_DRAWS = 5_000_000
"""The most draws at once, so that a million conversations fit into memory."""

_SEED = 0

Conclude = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""(m, k) means of m resamples -> (m, j) scores that are computed from them."""


def bootstrap_intervals(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], conclude: Conclude | None = None
) -> NDArray[np.float64]:
    """Compute 95 % intervals of k means over turns.

    It is a percentile bootstrap that draws conversations with replacement.

    Args:
        sums: (n, k) the sums over the turns of each of n conversations.
        sizes: (n, k) the numbers of these turns.
        conclude: computes j scores from the k means of each resample; without it, the scores are
            the means.

    Returns:
        (j, 2) the 2.5th and the 97.5th percentile; NaN if fewer than five conversations have turns.
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
        values = values[~np.isnan(values)]
        if len(values):
            intervals[column] = np.quantile(values, [0.025, 0.975])
    return intervals


def _resample_means(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute (RESAMPLES, k) means, a row for each resample.

    A mean is NaN if the resample has no turn with that measure.
    """
    count = len(sums)
    means = np.full((RESAMPLES, sums.shape[1]), nan)
    if count <= 1:
        return means
    generator = np.random.default_rng(_SEED)
    chunk = max(1, min(_CHUNK, _DRAWS // count))
    for start in range(0, RESAMPLES, chunk):
        size = min(chunk, RESAMPLES - start)
        draws = generator.multinomial(count, np.full(count, 1 / count), size=size)
        weights = draws.astype(np.float64)
        with np.errstate(invalid="ignore"):
            means[start : start + size] = (weights @ sums) / (weights @ sizes)
    return means
