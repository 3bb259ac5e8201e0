"""Ranking in steps, against a plain computation of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from convrag.sdk.search.cascade import RankingStep, score_in_steps

TEXTS = ["a3", "bb1", "c2", "dd4", "e0"]


def by_length(texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def by_number(texts: Sequence[str]) -> list[float]:
    return [float(text[-1]) for text in texts]


def test_each_step_ranks_what_the_one_before_it_keeps() -> None:
    seen: list[list[str]] = []

    def last(texts: Sequence[str]) -> list[float]:
        seen.append(list(texts))
        return by_length(texts)

    scored = score_in_steps([RankingStep(by_number, 3), RankingStep(last)], TEXTS)
    assert seen == [["dd4", "a3", "c2"]]
    assert scored.final == {"dd4": 3.0, "a3": 2.0, "c2": 2.0, "bb1": 1.0, "e0": 0.0}
    assert scored.steps == [
        dict(zip(TEXTS, by_number(TEXTS), strict=True)),
        {"dd4": 3.0, "a3": 2.0, "c2": 2.0},
    ]


def test_a_step_may_be_given_the_order_of_the_texts() -> None:
    seen: list[str] = []

    def last(texts: Sequence[str]) -> list[float]:
        seen.extend(texts)
        return by_length(texts)

    score_in_steps([RankingStep(by_number, 3), RankingStep(last)], TEXTS, best_first=False)
    assert seen == ["a3", "c2", "dd4"]


def test_a_step_that_keeps_all_its_texts_is_not_asked() -> None:
    def refuse(texts: Sequence[str]) -> list[float]:
        raise AssertionError("nobody asks")

    scored = score_in_steps([RankingStep(refuse, 5), RankingStep(by_number)], TEXTS)
    assert scored.steps[0] == {}
    assert scored.final == dict(zip(TEXTS, by_number(TEXTS), strict=True))


def test_equal_texts_count_as_one_and_equal_scores_stay_equal() -> None:
    texts = ["a9", "b1", "c1", "a9", "d1", "d5"]
    scored = score_in_steps([RankingStep(by_number, 2), RankingStep(by_number)], texts)
    assert scored.final == {"a9": 9.0, "d5": 5.0, "b1": 4.0, "c1": 4.0, "d1": 4.0}
    assert score_in_steps([RankingStep(by_number, 2), RankingStep(by_number)], []).final == {}


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), max_size=12),
    st.integers(2, 6),
    st.integers(1, 5),
)
@pytest.mark.parametrize("best_first", [True, False])
def test_the_order_is_that_of_sorting_in_steps(
    best_first: bool, rows: list[tuple[int, int, int]], many: int, few: int
) -> None:
    """The best `few` by the second of the best `many` by the first, ordered by the third."""
    texts = [f"{number}" for number in range(len(rows))]
    scores = dict(zip(texts, rows, strict=True))

    def step(place: int, keep: int | None) -> RankingStep:
        return RankingStep(lambda some: [float(scores[text][place]) for text in some], keep)

    few = min(few, many - 1)
    final = score_in_steps(
        [step(0, many), step(1, few), step(2, None)], texts, best_first=best_first
    ).final
    assert set(final) == set(texts)
    first = sorted(texts, key=lambda text: -scores[text][0]) if len(texts) > many else texts
    kept = first[:many] if best_first else [text for text in texts if text in first[:many]]
    second = sorted(kept, key=lambda text: -scores[text][1]) if len(kept) > few else kept
    lowest = [min(final[text] for text in second[:few])] if second else []
    assert all(final[text] == scores[text][2] for text in second[:few])
    assert all(final[text] < lowest[0] for text in texts if text not in second[:few])
    dropped = [final[text] for text in (*second[few:], *first[many:])]
    assert dropped == sorted(dropped, reverse=True)
