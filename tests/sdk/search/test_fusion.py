"""Reciprocal rank fusion."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from convrag.sdk.search.fusion import (
    add_scores,
    measure_agreement,
    reciprocal_rank_fusion,
    standardise_scores,
)

RANKINGS = st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=4)


def test_a_fusion_by_hand() -> None:
    fused = reciprocal_rank_fusion([["b", "a"], ["c", "b"]], 60)
    assert fused == {"b": 1 / 61 + 1 / 62, "a": 1 / 62, "c": 1 / 61}
    assert list(fused) == ["b", "a", "c"]


def test_the_first_rank_is_1() -> None:
    assert reciprocal_rank_fusion([["a", "b"]], 0) == {"a": 1.0, "b": 0.5}


def test_weights_multiply_the_share_of_a_ranking() -> None:
    assert reciprocal_rank_fusion([["a"], ["b", "a"]], 60, [2.0, 0.5]) == {
        "a": 2 / 61 + 0.5 / 62,
        "b": 0.5 / 61,
    }


def test_nothing_to_fuse() -> None:
    assert reciprocal_rank_fusion([], 60) == {}
    assert reciprocal_rank_fusion([[], []], 60) == {}
    assert reciprocal_rank_fusion(iter([["a"]]), 60) == {"a": 1 / 61}


@pytest.mark.parametrize("weights", [[], [1.0], [1.0, 1.0, 1.0]])
def test_every_ranking_has_a_weight(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="zip"):
        reciprocal_rank_fusion([["a"], ["b"]], 60, weights)


@given(rankings=RANKINGS, k=st.integers(0, 100), data=st.data())
def test_it_is_the_formula_of_the_paper(
    rankings: list[list[str]], k: int, data: st.DataObject
) -> None:
    weights = data.draw(
        st.lists(
            st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=len(rankings), max_size=len(rankings)
        )
    )
    fused = reciprocal_rank_fusion(rankings, k, weights)
    for id_ in {id_ for ranking in rankings for id_ in ranking}:
        exact = sum(
            Fraction(weight) / (k + ranking.index(id_) + 1)
            for ranking, weight in zip(rankings, weights, strict=True)
            if id_ in ranking
        )
        assert fused.pop(id_) == pytest.approx(float(exact), rel=1e-12)
    assert not fused
    assert reciprocal_rank_fusion(rankings, k) == reciprocal_rank_fusion(
        rankings, k, [1.0] * len(rankings)
    )


def test_agreement_by_hand() -> None:
    assert measure_agreement([]) == []
    assert measure_agreement(["ab"]) == [1.0]
    assert measure_agreement(["ab", "ab"]) == [1.0, 1.0]
    assert measure_agreement(["ab", "ba", "cd"]) == [0.25, 0.25, 0.0]
    assert measure_agreement(["abc", "ab"], depth=2) == [1.0, 1.0]
    assert measure_agreement(["", ""]) == [0.0, 0.0]


@given(RANKINGS)
def test_agreement_is_a_share_and_no_order_matters(rankings: list[list[str]]) -> None:
    found = measure_agreement(rankings)
    assert all(0 <= each <= 1 for each in found)
    assert measure_agreement(rankings[::-1]) == pytest.approx(found[::-1])


def test_z_scores_by_hand() -> None:
    assert standardise_scores({"a": 1.0, "b": 3.0}) == {"a": -1.0, "b": 1.0}
    assert standardise_scores({"a": 2.0, "b": 2.0}) == {"a": 0.0, "b": 0.0}
    assert standardise_scores({}) == {}


def test_weighted_scores_add_up() -> None:
    assert add_scores([{"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 1.0}], [1.0, 0.5]) == {
        "a": 1.25,
        "b": 0.5,
    }
