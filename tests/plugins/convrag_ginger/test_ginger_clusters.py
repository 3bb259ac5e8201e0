from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag.testing import RankerContract
from convrag_ginger.clusters import OutlierPolicy, SizeRanker, group_by_label
from ginger_toys import COFFEE, ODD, TEA, Letters, answer, ginger


class TestSizeContract(RankerContract):
    def make(self) -> SizeRanker:
        return SizeRanker()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("own", [[0, 1], [2, 4], [3]]),
        ("singletons", [[0, 1], [2], [3], [4]]),
        ("nearest", [[0, 1, 2], [3, 4]]),
        ("drop", [[0, 1], [3]]),
    ],
)
def test_outliers(policy: OutlierPolicy, expected: list[list[int]]) -> None:
    assert (
        group_by_label([0, 0, -1, 1, -1], ["aa", "ab", "aab", "zzz", "zy"], Letters(), policy)
        == expected
    )


@pytest.mark.parametrize("policy", ["singletons", "nearest", "drop"])
def test_where_all_are_outliers_none_is_lost(policy: OutlierPolicy) -> None:
    assert group_by_label([-1, -1], ["a", "b"], Letters(), policy) == [[0], [1]]


def test_an_outlier_like_nothing_else_stays_alone() -> None:
    assert group_by_label([0, 0, -1, -1], ["a", "a", "b", "?"], Letters(), "nearest") == [
        [0, 1],
        [2],
        [3],
    ]


def test_the_trace_names_outliers() -> None:
    found = answer(ginger(), TEA, ODD)
    expected = [([0, 1, 2], False), ([3], True), ([4], True)]
    assert [(c["nuggets"], c["outlier"]) for c in found.trace["clusters"]] == expected
    assert len(answer(ginger(outliers="own"), TEA, ODD).trace["clusters"]) == 2


@given(st.lists(st.integers(-1, 4), max_size=30), st.sampled_from(["own", "singletons", "nearest"]))
def test_no_text_is_lost_or_doubled(labels: list[int], policy: OutlierPolicy) -> None:
    texts = [chr(97 + n % 26) * (n + 1) for n in range(len(labels))]
    found = group_by_label(labels, texts, Letters(), policy)
    assert sorted(index for members in found for index in members) == list(range(len(labels)))
    assert found == sorted(found)


def test_clusters_of_two_nuggets() -> None:
    """The seed's: two clusters of two nuggets at least, or each nugget alone."""

    def members(*texts: str, **given: Any) -> list[list[int]]:
        found = answer(ginger(**({"least_nuggets": 2, "outliers": "own"} | given)), *texts)
        return [cluster["nuggets"] for cluster in found.trace["clusters"]]

    assert members(TEA, COFFEE) == [[0, 1, 2], [3, 4]]
    assert members(TEA, COFFEE, "Cid sleeps.", "Dan runs.") == [[0, 1, 2], [3, 4], [5, 6]]
    assert sorted(map(len, members(TEA, COFFEE, "Cid sleeps."))) in (
        [2, 4],
        [3, 3],
    )  # it joins the nearest
    assert members("Ann drinks tea. Ann grows mint. Ann sells cups. Ann sings.") == [
        [0],
        [1],
        [2],
        [3],
    ]
    assert members("Ann eats. Bob eats. Cid drinks. Dan runs.", outliers="drop") == [
        [0],
        [1],
        [2],
        [3],
    ]
