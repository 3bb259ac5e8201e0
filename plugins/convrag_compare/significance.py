"""Tests of significance. Their unit is the conversation, because the turns of one are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = 16
"""The number of conversations that differ up to which every way to flip their signs is tried."""

FLIPS = 19_999
"""The number of random sign flips where there are more; with the observed signs they are 20,000."""

_CHUNK = 500
"""The number of flips at once, with no more than so many signs in all: a million conversations fit into memory."""
_SIGNS = 5_000_000
_SEED = 0
_ROUNDING = 1e-9


def compute_sign_flip_p(differences: NDArray[np.float64]) -> list[float]:
    """The p-values of k paired randomisation tests, two-sided.

    If two systems were equally good, the difference in each conversation could as well have had the other sign. The
    p-value is the share of the ways to flip the signs that give a total at least as far from zero as the observed one.

    Args:
        differences: (n, k), for each of n conversations and k tests, the sum of the differences of its turns.
    """
    observed = np.abs(differences.sum(axis=0)) - _ROUNDING * np.abs(differences).sum(axis=0)
    exact = is_exact(differences)
    sampled = _sample_p(differences[:, ~exact], observed[~exact])
    found = np.empty(differences.shape[1])
    found[~exact] = sampled
    for column in np.flatnonzero(exact):
        differing = differences[differences[:, column] != 0, column]  # flipping the others changes nothing
        totals = np.abs(_list_signs(len(differing)) @ differing)
        found[column] = np.mean(totals >= observed[column])
    return [float(p) for p in found]


def is_exact(differences: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether every way to flip the signs is tried: for differences (n, k), an array (k,)."""
    return np.asarray(np.count_nonzero(differences, axis=0) <= EXACT)


def _sample_p(differences: NDArray[np.float64], observed: NDArray[np.float64]) -> NDArray[np.float64]:
    generator = np.random.default_rng(_SEED)
    extreme = np.zeros(differences.shape[1])
    chunk = max(1, min(_CHUNK, _SIGNS // max(len(differences), 1)))
    for start in range(0, FLIPS if differences.shape[1] else 0, chunk):
        size = min(chunk, FLIPS - start), len(differences)
        signs = generator.integers(0, 2, size=size) * 2.0 - 1.0
        extreme += np.sum(np.abs(signs @ differences) >= observed, axis=0)
    return (extreme + 1) / (FLIPS + 1)


def correct_by_holm(p_values: Sequence[float], differences: Sequence[Sequence[float] | None] = ()) -> list[float]:
    """P-values corrected for several tests by Holm's step-down method; NaN, for no test, stays NaN.

    Args:
        p_values: of the tests.
        differences: of the turns in each test. Tests with the same differences are one test and count once; one whose
            differences are all 0 compares a system with an equal one, and does not count. Without them, all count.
    """
    tests: dict[tuple[float, ...] | int, list[int]] = {}
    for index, p in enumerate(p_values):
        values = differences[index] if differences else None
        if not isnan(p):
            tests.setdefault(index if values is None else tuple(values), []).append(index)
    corrected = list(p_values)
    counted = sorted((p_values[same[0]], same) for key, same in tests.items() if isinstance(key, int) or any(key))
    highest = 0.0
    for done, (p, same) in enumerate(counted):
        highest = max(highest, min(1.0, p * (len(counted) - done)))
        for index in same:
            corrected[index] = highest
    return corrected


def _list_signs(count: int) -> NDArray[np.float64]:
    """Every combination of signs, (2 ** (count - 1), count), but for mirror images, whose totals are as far from 0."""
    numbers = np.arange(2 ** max(count - 1, 0))[:, None]
    negative = (numbers >> np.arange(count)) & 1
    return np.where(negative, -1.0, 1.0)
