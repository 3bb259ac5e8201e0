"""How sure a mean is: intervals from draws of whole conversations, for the turns of one hang together."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 10_000
_CHUNK = 500
_SEED = 0

Follow = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""(m, k) means of m draws -> (m, j) numbers that follow from them."""


def intervals(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], follow: Follow | None = None
) -> NDArray[np.float64]:
    """The 95 % intervals of k means over turns, by a percentile bootstrap that draws conversations with replacement.

    Args:
        sums: (n, k) for each conversation, the sum over its turns.
        sizes: (n, k) the number of those turns.
        follow: makes of the k means of a draw the j numbers whose intervals are wanted; the means, without it.

    Returns:
        (j, 2) the 2.5th and the 97.5th percentile; NaN where fewer than two conversations have turns.
    """
    drawn = _means(sums, sizes)
    lonely = (sizes > 0).sum(axis=0) < 2
    drawn[:, lonely] = nan
    wanted = follow(drawn) if follow else drawn
    found = np.full((wanted.shape[1], 2), nan)
    for column in range(wanted.shape[1]):
        values = wanted[:, column]
        if len(values := values[~np.isnan(values)]):
            found[column] = np.quantile(values, [0.025, 0.975])
    return found


def _means(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """(RESAMPLES, k) the means of each draw; NaN where it drew no turn."""
    count = len(sums)
    means = np.full((RESAMPLES, sums.shape[1]), nan)
    generator = np.random.default_rng(_SEED)
    for start in range(0, RESAMPLES if count > 1 else 0, _CHUNK):
        weights = generator.multinomial(count, np.full(count, 1 / count), size=_CHUNK).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means[start : start + _CHUNK] = (weights @ sums) / (weights @ sizes)
    return means
