"""What the scores of turns come to."""

import tracemalloc
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from convrag.api.errors import RunStopped
from convrag.api.records import TurnRecord, Usage
from convrag.api.stages import Metrics
from convrag.score import bootstrap
from convrag.score.bootstrap import bootstrap_intervals
from convrag.score.measuring import measure
from convrag.score.scoring import Scores
from convrag.store.usage_meter import add_usage


class Given(Metrics):
    """Values from a table."""

    def __init__(self, values: Mapping[str, Mapping[str, float]]) -> None:
        self.values = values

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        return self.values


class F1(Given):
    """A ratio of totals."""

    def conclude(self, means: Mapping[str, float]) -> Mapping[str, float]:
        total = means["predicted"] + means["labelled"]
        return {"F1": 2 * means["hit"] / total} if total else {}


def record(conversation: str, number: int, domain: str = "a", **labels: Any) -> TurnRecord:
    return TurnRecord(
        conversation, f"{conversation}<::>{number}", domain, number, "?", labels=labels
    )


RECORDS = [
    record("x", 1, kind="easy", many=[1, 2]),
    record("x", 2, kind="hard", many=[1, 2]),
    record("y", 1, "b", kind="easy", many=[1, 2]),
    record("y", 2, "b", kind="hard"),
    record("y", 10, "b"),
]


def scores(*metrics: Given) -> Scores:
    named = {f"m{number}": metric for number, metric in enumerate(metrics)}
    return Scores(RECORDS, named, {name: metric.values for name, metric in named.items()})


def test_means_are_over_the_turns_that_have_the_measure() -> None:
    found = scores(
        Given({"x<::>1": {"m": 1.0}, "x<::>2": {"m": 0.0, "n": 0.5}, "y<::>1": {"m": 0.5}})
    )
    assert found.score_all().scores == {"m": 0.5, "n": 0.5}
    assert found.score_all().turns == 3
    assert {
        domain: (part.turns, part.scores) for domain, part in found.score_domains().items()
    } == {
        "a": (2, {"m": 0.5, "n": 0.5}),
        "b": (1, {"m": 0.5}),
    }


def test_slices_are_turn_positions_in_order_and_the_values_of_labels() -> None:
    found = scores(
        Given({record.turn_id: {"m": float(record.number)} for record in RECORDS})
    ).score_slices()
    assert list(found) == ["turn", "kind", "many"]
    expected = [("1", 2, 1.0), ("2", 2, 2.0), ("10", 1, 10.0)]
    assert [
        (value, part.turns, part.scores["m"]) for value, part in found["turn"].items()
    ] == expected
    assert {value: part.turns for value, part in found["kind"].items()} == {"easy": 2, "hard": 2}
    assert {value: part.turns for value, part in found["many"].items()} == {"1": 3, "2": 3}


def test_labels_that_name_every_turn_are_no_slices() -> None:
    records = [record("x", number, name=f"turn {number}", same="yes") for number in range(1, 40)]
    metric = Given({each.turn_id: {"m": 1.0} for each in records})
    assert list(Scores(records, {"m": metric}, {"m": metric.values}).score_slices()) == ["turn"]


def test_what_follows_from_means_follows_in_every_slice_and_has_an_interval() -> None:
    counts = {
        "x<::>1": {"hit": 1.0, "predicted": 1.0, "labelled": 1.0},
        "x<::>2": {"hit": 0.0, "predicted": 1.0, "labelled": 0.0},
        "y<::>1": {"hit": 0.0, "predicted": 0.0, "labelled": 1.0},
    }
    found = scores(F1(counts), Given({"y<::>1": {"m": 1.0}}))
    assert found.score_all().scores == {"F1": pytest.approx(0.5), "m": 1.0}
    assert found.score_domains()["a"].scores == {"F1": pytest.approx(2 / 3)}
    assert found.compute_intervals() == {}  # of two conversations
    pairs = ("x", 1), ("x", 2), ("y", 1)
    many = [record(f"{name}{n}", number) for n in range(5) for name, number in pairs]
    values = {each.turn_id: counts[f"{each.conversation_id[0]}<::>{each.number}"] for each in many}
    metrics = {"f1": F1(values), "given": Given({"y0<::>1": {"m": 1.0}})}
    found = Scores(many, metrics, {name: metric.values for name, metric in metrics.items()})
    low, high = found.compute_intervals()["F1"]
    assert 0.0 <= low < 0.5 < high <= 1.0
    assert "m" not in found.compute_intervals()  # of one conversation


def test_a_metric_that_fails_costs_its_own_numbers_alone() -> None:
    class Broken(Given):
        """Fails."""

        def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
            add_usage(Usage(calls=1, cost_usd=0.5))
            raise RunStopped("the limit of 1 US dollar is reached")

    fine = Given({"x<::>1": {"m": 1.0}})
    measured = measure({"broken": Broken({}), "fine": fine}, RECORDS)
    assert measured.values == {"fine": fine.values}
    assert measured.failures == {"broken": "the limit of 1 US dollar is reached"}
    assert measured.usage == {"metrics.broken": Usage(calls=1, cost_usd=0.5)}


def test_intervals_are_those_of_whole_conversations() -> None:
    """Turns that repeat each other bring no certainty: ten equal turns per conversation change
    nothing.
    """
    means = np.random.default_rng(6).random((30, 1))
    once = bootstrap_intervals(means, np.ones((30, 1)))
    assert bootstrap_intervals(10 * means, np.full((30, 1), 10.0)) == pytest.approx(once)
    error = means.std() / np.sqrt(30)
    assert once[0, 1] - once[0, 0] == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_scipy_draws_the_same_interval() -> None:
    stats = pytest.importorskip("scipy.stats")
    means = np.random.default_rng(7).random(40)
    theirs = stats.bootstrap(
        (means,), np.mean, n_resamples=10000, method="percentile", rng=np.random.default_rng(0)
    )
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
    sums = np.stack([generator.integers(0, 5, 40), generator.integers(5, 9, 40)], axis=1).astype(
        float
    )
    ones = np.ones_like(sums)
    ((low, high),) = bootstrap_intervals(sums, ones, lambda means: means[:, :1] / means[:, 1:])
    ratio = sums[:, 0].sum() / sums[:, 1].sum()
    assert low < ratio < high
    same = bootstrap_intervals(sums, ones, lambda means: means * 2)
    assert same == pytest.approx(2 * bootstrap_intervals(sums, ones))


def test_many_conversations_take_little_memory_and_chunks_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums, sizes = np.random.default_rng(1).random((40, 2)), np.ones((40, 2))
    whole = bootstrap_intervals(sums, sizes)
    monkeypatch.setattr(bootstrap, "_DRAWS", 40 * 7)
    assert bootstrap_intervals(sums, sizes) == pytest.approx(whole, rel=1e-12), (
        "BLAS adds up other sizes otherwise"
    )
    monkeypatch.undo()
    monkeypatch.setattr(bootstrap, "RESAMPLES", 60)
    many = np.random.default_rng(1).random((100_000, 1))
    tracemalloc.start()
    bootstrap_intervals(many, np.ones_like(many))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6  # 500 resamples at once would be 800 MB
