"""Intervals whose unit is the conversation."""

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from convrag.score import scoring
from convrag.score.scoring import bootstrap_intervals


def test_intervals_are_those_of_whole_conversations() -> None:
    """Turns that repeat each other bring no certainty: ten equal turns per conversation change nothing."""
    means = np.random.default_rng(6).random((30, 1))
    once = bootstrap_intervals(means, np.ones((30, 1)))
    assert bootstrap_intervals(10 * means, np.full((30, 1), 10.0)) == pytest.approx(once)
    error = means.std() / np.sqrt(30)
    assert once[0, 1] - once[0, 0] == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_scipy_draws_the_same_interval() -> None:
    stats = pytest.importorskip("scipy.stats")
    means = np.random.default_rng(7).random(40)
    theirs = stats.bootstrap((means,), np.mean, n_resamples=10000, method="percentile", rng=np.random.default_rng(0))
    ((low, high),) = bootstrap_intervals(means[:, None], np.ones((40, 1)))
    assert (low, high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_fewer_than_five_conversations_have_no_interval(number: int) -> None:
    sums = np.arange(number, dtype=float)[:, None]
    assert np.isnan(bootstrap_intervals(sums, np.ones((number, 1)))).all()
    assert np.isnan(bootstrap_intervals(sums, np.ones((number, 1)), lambda means: means * 2)).all()


def test_nothing_is_concluded_from_too_few_conversations() -> None:
    """A metric with a formula of its own would be asked 10,000 times for what is not there."""
    rows: list[int] = []

    def conclude(means: NDArray[np.float64]) -> NDArray[np.float64]:
        rows.append(len(means))
        return means

    assert np.isnan(bootstrap_intervals(np.ones((4, 2)), np.ones((4, 2)), conclude)).all()
    assert rows == [1]


def test_conversations_without_a_scored_turn_do_not_count() -> None:
    sums = np.stack([np.arange(5.0), np.arange(5.0)], axis=1)
    sizes = np.array([[0.0, 1.0], *[[1.0, 1.0]] * 4])
    four, five = bootstrap_intervals(sums * sizes, sizes)
    assert np.isnan(four).all()
    assert not np.isnan(five).any()


def test_what_follows_from_the_means_has_an_interval_too() -> None:
    generator = np.random.default_rng(5)
    sums = np.stack([generator.integers(0, 5, 40), generator.integers(5, 9, 40)], axis=1).astype(float)
    ones = np.ones_like(sums)
    ((low, high),) = bootstrap_intervals(sums, ones, lambda means: means[:, :1] / means[:, 1:])
    ratio = sums[:, 0].sum() / sums[:, 1].sum()
    assert low < ratio < high
    same = bootstrap_intervals(sums, ones, lambda means: means * 2)
    assert same == pytest.approx(2 * bootstrap_intervals(sums, ones))


def test_many_conversations_take_little_memory_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, sizes = np.random.default_rng(1).random((40, 2)), np.ones((40, 2))
    whole = bootstrap_intervals(sums, sizes)
    monkeypatch.setattr(scoring, "_DRAWS", 40 * 7)
    assert bootstrap_intervals(sums, sizes) == pytest.approx(whole, rel=1e-12), "BLAS adds up other sizes otherwise"
    monkeypatch.undo()
    monkeypatch.setattr(scoring, "RESAMPLES", 60)
    many = np.random.default_rng(1).random((100_000, 1))
    tracemalloc.start()
    bootstrap_intervals(many, np.ones_like(many))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6  # 500 resamples at once would be 800 MB
