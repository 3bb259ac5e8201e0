"""P-values: a paired randomisation test over conversations, and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = 16
"""Up to this number of differing conversations, every way to flip their signs is tried."""

FLIPS = 19_999
"""The number of random sign flips where more differ; with the observed signs they are 20,000."""

_FLIPS_AT_ONCE = 500
_SIGNS_AT_ONCE = 5_000_000
"""Limits on the flips in memory at once, so that a million conversations fit."""

_SEED = 0
_ROUNDING = 1e-9


def compute_sign_flip_p(differences: NDArray[np.float64]) -> list[float]:
    """Compute the p-values of k paired randomisation tests, two-sided.

    If two systems were equally good, the difference in each conversation could as well have had the
    other sign. The p-value is the share of the ways to flip the signs that give a total at least as
    far from zero as the observed one.

    Args:
        differences: (n, k), for each of n conversations and k tests, the sum of the differences of
            its turns.
    """
    tolerance = _ROUNDING * np.abs(differences).sum(axis=0)
    observed = np.abs(differences.sum(axis=0)) - tolerance
    is_exact = np.count_nonzero(differences, axis=0) <= EXACT
    p_values = np.empty(differences.shape[1])
    p_values[~is_exact] = _sample_p(differences[:, ~is_exact], observed[~is_exact])
    for test in np.flatnonzero(is_exact):
        column = differences[:, test]
        differing = column[column != 0]  # flipping the others changes nothing
        totals = np.abs(_list_signs(len(differing)) @ differing)
        p_values[test] = np.mean(totals >= observed[test])
    return [float(p) for p in p_values]


def _sample_p(
    differences: NDArray[np.float64], observed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Estimate the p-values of k tests from random flips of the signs."""
    conversations, tests = differences.shape
    extreme = np.zeros(tests)
    if not tests:
        return extreme
    generator = np.random.default_rng(_SEED)
    at_once = max(1, min(_FLIPS_AT_ONCE, _SIGNS_AT_ONCE // max(conversations, 1)))
    for start in range(0, FLIPS, at_once):
        size = min(at_once, FLIPS - start)
        signs = generator.integers(0, 2, size=(size, conversations)) * 2.0 - 1.0
        extreme += np.sum(np.abs(signs @ differences) >= observed, axis=0)
    return (extreme + 1) / (FLIPS + 1)


def _list_signs(count: int) -> NDArray[np.float64]:
    """List combinations of signs, (2 ** (count - 1), count).

    Mirror images are left out: their totals are as far from 0.
    """
    numbers = np.arange(2 ** max(count - 1, 0))[:, None]
    is_negative = (numbers >> np.arange(count)) & 1
    return np.where(is_negative, -1.0, 1.0)


def correct_by_holm(
    p_values: Sequence[float], differences: Sequence[Sequence[float] | None] = ()
) -> list[float]:
    """Correct p-values for several tests by Holm's step-down method.

    NaN stands for a test that was not made, and stays NaN.

    Args:
        p_values: the p-value of each test.
        differences: the differences of the turns in each test. Tests with the same differences are
            one test and count once; one whose differences are all 0 compares a system with an equal
            one, and does not count. Without them, all tests count.
    """
    groups = _group_equal_tests(p_values, differences)
    groups.sort(key=lambda tests: (p_values[tests[0]], tests))
    corrected = list(p_values)
    highest = 0.0
    for rank, tests in enumerate(groups):
        remaining = len(groups) - rank
        p = min(1.0, p_values[tests[0]] * remaining)
        highest = max(highest, p)
        for test in tests:
            corrected[test] = highest
    return corrected


def _group_equal_tests(
    p_values: Sequence[float], differences: Sequence[Sequence[float] | None]
) -> list[list[int]]:
    """Group the tests with the same differences; tests of equal systems are left out."""
    separate: list[list[int]] = []
    by_differences: dict[tuple[float, ...], list[int]] = {}
    for test, p in enumerate(p_values):
        if isnan(p):
            continue
        values = differences[test] if differences else None
        if values is None:
            separate.append([test])
        elif any(values):
            by_differences.setdefault(tuple(values), []).append(test)
    return [*separate, *by_differences.values()]
