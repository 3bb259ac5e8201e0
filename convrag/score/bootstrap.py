"""Confidence intervals of means over turns. Conversations are resampled whole: their turns are not independent."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000

LEAST = 5
"""With fewer conversations there is no interval: four can be drawn in 35 ways only, and most draws repeat one."""

TOO_FEW = f"n < {LEAST} conversations"
"""What is said in its place."""

_CHUNK = 500
"""The number of resamples at once, with no more than so many draws in all: a million conversations fit into memory."""
_DRAWS = 5_000_000
_SEED = 0

Conclude = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""(m, k) means of m resamples -> (m, j) scores that are computed from them."""


def bootstrap_intervals(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], conclude: Conclude | None = None
) -> NDArray[np.float64]:
    """Compute 95 % intervals of k means over turns: a percentile bootstrap that draws conversations with replacement.

    Args:
        sums: (n, k) the sums over the turns of each of n conversations.
        sizes: (n, k) the numbers of these turns.
        conclude: computes j scores from the k means of each resample; without it, the scores are the means.

    Returns:
        (j, 2) the 2.5th and the 97.5th percentile; NaN where fewer than five conversations have turns.
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
    """Compute (RESAMPLES, k) means, a row for each resample; NaN where a resample has no turn of a measure."""
    count = len(sums)
    means = np.full((RESAMPLES, sums.shape[1]), nan)
    generator = np.random.default_rng(_SEED)
    chunk = max(1, min(_CHUNK, _DRAWS // max(count, 1)))
    for start in range(0, RESAMPLES if count > 1 else 0, chunk):
        size = min(chunk, RESAMPLES - start)
        weights = generator.multinomial(count, np.full(count, 1 / count), size=size).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means[start : start + size] = (weights @ sums) / (weights @ sizes)
    return means
