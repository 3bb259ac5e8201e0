"""The tests of significance, against brute force and scipy."""

import itertools
import tracemalloc
from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag_compare import significance
from convrag_compare.significance import EXACT, FLIPS, compute_sign_flip_p, correct_by_holm

sums = st.lists(st.integers(-5, 5).map(lambda n: n / 4), min_size=1, max_size=9)


def brute_force(differences: list[float]) -> float:
    """Every way to flip every sign, zeros and mirror images included."""
    observed = abs(sum(differences)) - 1e-9
    totals = [
        abs(sum(map(float.__mul__, s, differences)))
        for s in itertools.product((1.0, -1.0), repeat=len(differences))
    ]
    return sum(total >= observed for total in totals) / len(totals)


@given(sums)
@settings(max_examples=60)
def test_few_conversations_are_tested_exactly(differences: list[float]) -> None:
    (p,) = compute_sign_flip_p(np.array(differences)[:, None])
    assert p == pytest.approx(brute_force(list(map(float, differences))))


def test_scipy_says_the_same() -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(3).normal(0.3, 1, size=12)
    theirs = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert compute_sign_flip_p(differences[:, None])[0] == pytest.approx(theirs.pvalue)


def test_many_conversations_are_sampled() -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(4).normal(0.15, 1, size=(120, 3))
    p_values = compute_sign_flip_p(differences)
    for column, p in enumerate(p_values):
        theirs = stats.permutation_test(
            (differences[:, column],),
            np.sum,
            permutation_type="samples",
            n_resamples=20000,
            rng=np.random.default_rng(0),
        )
        assert p == pytest.approx(theirs.pvalue, abs=0.015)
    assert compute_sign_flip_p(differences) == p_values
    assert compute_sign_flip_p(np.full((40, 1), 0.1)) == [1 / (FLIPS + 1)]


def test_exact_and_sampled_ones_stand_side_by_side() -> None:
    wide = np.zeros((EXACT + 4, 3))
    wide[:5, 0] = 1.0
    wide[:, 1] = np.random.default_rng(0).normal(size=len(wide))
    p_values = compute_sign_flip_p(wide)
    assert p_values[0] == 2 / 2**5
    assert 0 < p_values[1] < 1
    assert p_values[2] == 1.0


def test_alike_systems_are_rarely_called_different() -> None:
    """The share of p <= .05 among worlds without a difference is at most about .05."""
    differences = np.random.default_rng(5).standard_t(3, size=(12, 400))
    share = np.mean(np.array(compute_sign_flip_p(differences)) <= 0.05)
    assert 0.02 <= share <= 0.08


@given(st.lists(st.floats(0, 1) | st.just(nan), max_size=8))
def test_holm(p_values: list[float]) -> None:
    corrected = correct_by_holm(p_values)
    tested = [(p, c) for p, c in zip(p_values, corrected, strict=True) if not isnan(p)]
    assert [isnan(p) for p in p_values] == [isnan(c) for c in corrected]
    assert all(p <= c <= 1 for p, c in tested)
    rejected = {index for index, c in enumerate(corrected) if c <= 0.05}
    by_definition = set()
    order = sorted((p, index) for index, p in enumerate(p_values) if not isnan(p))
    for done, (p, index) in enumerate(order):
        if p * (len(order) - done) > 0.05:
            break
        by_definition.add(index)
    assert rejected == by_definition


def test_holm_by_hand() -> None:
    assert correct_by_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_equal_comparisons_count_once_and_those_with_an_equal_system_not_at_all() -> None:
    p_values, differences = (
        [0.027, 0.027, 0.5, 1.0, nan],
        [[0.1, 0.2], [0.1, 0.2], [0.3, -0.2], [0.0, 0.0], []],
    )
    assert correct_by_holm(p_values, differences)[:4] == pytest.approx([0.054, 0.054, 0.5, 1.0])
    assert correct_by_holm(p_values)[0] == pytest.approx(0.108)


def test_many_conversations_take_little_memory_and_chunks_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    differences = np.random.default_rng(1).normal(size=(40, 2))
    whole = compute_sign_flip_p(differences)
    monkeypatch.setattr(significance, "_SIGNS_AT_ONCE", 40 * 7)
    assert compute_sign_flip_p(differences) == whole
    monkeypatch.undo()
    monkeypatch.setattr(significance, "FLIPS", 500)
    many = np.random.default_rng(1).normal(size=(50_000, 1))
    tracemalloc.start()
    compute_sign_flip_p(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6  # 500 flips at once would be 400 MB
