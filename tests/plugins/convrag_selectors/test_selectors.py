"""`selector=mmr`, `dynamic` and `budget`: by hand, by references of their formulas, and combined."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

import toys
from convrag import (
    Clusterer,
    ConfigError,
    Embedder,
    Hit,
    Passage,
    Pipeline,
    Question,
    Ranker,
    Selector,
)
from convrag.testing import LetterEmbedder, SelectorContract
from convrag_selectors.selectors import (
    BudgetSelector,
    DynamicSelector,
    MMRSelector,
    fill_knapsack,
    scale_scores,
)

ASKED = Question(
    "How long may a sick note wait?", standalone="How long may the pension of a nurse wait?"
)


class TestMMR(SelectorContract):
    def make(self) -> MMRSelector:
        return MMRSelector(embedder=LetterEmbedder())


class TestMMRByEmbedder(SelectorContract):
    def make(self) -> MMRSelector:
        return MMRSelector(embedder=LetterEmbedder(), relevance="embedder", lambda_=0.3)


class TestDynamic(SelectorContract):
    def make(self) -> DynamicSelector:
        return DynamicSelector()


class TestBudget(SelectorContract):
    def make(self) -> BudgetSelector:
        return BudgetSelector(llm=toys.EchoLLM(), tokens=12)


class Rows(Embedder):
    """Looks rows up by text."""

    def __init__(self, rows: dict[str, Sequence[float]]) -> None:
        self.rows = rows

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        return np.array([self.rows[text] for text in texts], dtype=np.float32)


class Labels(Clusterer):
    """Gives the labels that it was made with."""

    def __init__(self, *labels: int) -> None:
        self.labels = labels

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        return np.array(self.labels, dtype=np.int64)


class Scores(Ranker):
    """Scores texts by query and text."""

    def __init__(self, scores: dict[str, Sequence[float]]) -> None:
        self.scores = scores

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return np.array(self.scores[query][: len(texts)], dtype=np.float64)


def hits(*pairs: tuple[str, float]) -> list[Hit]:
    """Hits of passages whose id and text are the same."""
    return [Hit(Passage(text, text), score) for text, score in pairs]


def select(stage: Selector, found: Sequence[Hit], n: int = 3, asked: Question = ASKED) -> list[str]:
    return [hit.passage.id for hit in stage.select(asked, found, n).hits]


FOUR = hits(("a", 10.0), ("b", 9.0), ("c", 6.0), ("d", 5.0))


# MMR
# -----------------------------------------------------------------------------------------------------------------


def test_mmr_by_hand() -> None:
    """b repeats a. Scaled scores: 1, .8, .2, 0; at .5, b has .4 - .5, c has .1 - 0, d has 0 - 0."""
    same = Rows({"a": [1, 0, 0], "b": [1, 0, 0], "c": [0, 1, 0], "d": [0, 0, 1]})
    selection = MMRSelector(embedder=same, lambda_=0.5).select(ASKED, FOUR, 4)
    assert [hit.passage.id for hit in selection.hits] == ["a", "c", "d", "b"]
    assert selection.trace == {"ranks": [1, 3, 4, 2]}
    assert select(MMRSelector(embedder=same, lambda_=1.0), FOUR) == ["a", "b", "c"]


def test_mmr_by_the_similarity_to_the_rewritten_question() -> None:
    """Cosines with the question: 0, .6, .8, 0. After c, b has .5 * (.6 - .48) = .06, a and d 0."""
    rows = Rows(
        {
            ASKED.standalone: [0, 1, 0],
            "a": [1, 0, 0],
            "b": [0.8, 0.6, 0],
            "c": [0, 0.8, 0.6],
            "d": [1, 0, 0],
        }
    )
    assert select(MMRSelector(embedder=rows, lambda_=0.5, relevance="embedder"), FOUR, 2) == [
        "c",
        "b",
    ]


# dynamic
# -------------------------------------------------------------------------------------------------------------

PENSIONS = hits(
    ("Pensions of nurses", 9.0),
    ("A nurse", 6.0),
    ("Waiting", 2.0),
    ("Pensions wait", 3.0),
    ("Fog", 1.0),
    ("x", 0.0),
)


def test_dynamic_keeps_good_scores_and_new_facets() -> None:
    """Facets: pension, nurse, wait, and long, which no passage has. Scaled scores: 1, .67, .22,
    .33, .11, 0.
    """
    selection = DynamicSelector().select(ASKED, PENSIONS, 5)
    assert [hit.passage.id for hit in selection.hits] == [
        "Pensions of nurses",
        "A nurse",
        "Waiting",
    ]
    assert selection.trace == {
        "ranks": [1, 2, 3],
        "reason": "kept 3: passage 4 scores 0.33 of the first, and does not have 'long'",
        "missing_facets": ["long"],
    }


def test_dynamic_says_why_it_ends() -> None:
    def explain(found: Sequence[Hit], n: int, text: str = "nurses", **parameters: Any) -> str:
        reason: str = DynamicSelector(**parameters).select(Question(text), found, n).trace["reason"]
        return reason

    assert (
        explain(PENSIONS, 5) == "kept 2: passage 3 scores 0.22 of the first, and no facet is left"
    )
    assert explain(PENSIONS, 1) == "kept 1: no more are wanted"
    assert (
        explain(PENSIONS, 5, minimum=3)
        == "kept 3: passage 4 scores 0.33 of the first, and no facet is left"
    )
    assert explain(PENSIONS, 1, maximum=4, share=0.2) == "kept 4: no more are wanted"
    assert explain(PENSIONS[:2], 5, share=0.0) == "kept 2: no more were found"
    assert explain([], 5) == "kept 0: no more were found"


# budget
# --------------------------------------------------------------------------------------------------------------


def test_budget_takes_the_best_set_and_not_the_first_ones() -> None:
    """Scaled: 1, .9, .8, 0. Two short passages (1.7) are better than the long first one (1)."""
    found = hits(("one two three four five", 10.0), ("b b", 9.0), ("c c", 8.0), ("d d d", 0.0))
    selection = BudgetSelector(llm=toys.EchoLLM(), tokens=5).select(ASKED, found, 1)
    assert [hit.passage.id for hit in selection.hits] == ["b b", "c c"]
    assert selection.trace == {"ranks": [2, 3], "tokens": 4, "too_long": 0}
    assert not selection.fallback


def test_budget_passes_over_what_is_too_long() -> None:
    found = hits(("one two three four five", 10.0), ("b b", 9.0), ("c c", 8.0))
    selection = BudgetSelector(llm=toys.EchoLLM(), tokens=2).select(ASKED, found, 5)
    assert [hit.passage.id for hit in selection.hits] == ["b b"]
    assert selection.trace["too_long"] == 1


def test_budget_cuts_nothing_and_says_so() -> None:
    found = hits(("one two three four five", 10.0), ("six seven", 9.0))
    selection = BudgetSelector(llm=toys.EchoLLM(), tokens=1).select(ASKED, found, 5)
    assert selection.hits == (found[0],)
    assert selection.fallback == "no passage fits into 1 tokens; the first has 5"


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=9), st.integers(1, 25))
def test_the_knapsack_is_the_best_of_all_sets(items: list[tuple[int, int]], room: int) -> None:
    values, sizes = [value for value, _ in items], [size for _, size in items]
    fitting = [
        subset
        for count in range(len(items) + 1)
        for subset in combinations(range(len(items)), count)
        if sum(sizes[i] for i in subset) <= room
    ]
    best = max(sum(values[i] for i in subset) for subset in fitting)
    equal = [subset for subset in fitting if sum(values[i] for i in subset) == best]
    first = max(equal, key=lambda subset: [i in subset for i in range(len(items))])
    assert fill_knapsack(values, sizes, room) == list(first)


# All of them
# ---------------------------------------------------------------------------------------------------------


def list_selectors() -> list[Selector]:
    return [
        MMRSelector(embedder=LetterEmbedder()),
        DynamicSelector(),
        BudgetSelector(llm=toys.EchoLLM(), tokens=9),
    ]


def test_scores_are_scaled() -> None:
    assert scale_scores([-2.0, -3.0, -4.0]) == [1.0, 0.5, 0.0]
    assert scale_scores([7.0, 7.0]) == [1.0, 1.0]
    assert scale_scores([]) == []


def test_the_maximum_is_not_below_the_minimum() -> None:
    with pytest.raises(ConfigError, match="selector.maximum=2"):
        DynamicSelector(minimum=3, maximum=2)


@pytest.mark.parametrize("selector", ["mmr", "dynamic", "budget"])
@pytest.mark.parametrize(
    "others", [["context=dedup"], ["generator=ginger"]], ids=lambda each: each[0]
)
def test_they_combine_with_what_reads_the_evidence(
    selector: str, others: list[str], tmp_path: Any
) -> None:
    overrides = [
        *others,
        f"selector={selector}",
        "top_k=8",
        "top_n=3",
        f"store.path={tmp_path}",
        "tracker=none",
    ]
    pipeline = Pipeline.compose(*overrides)
    for text in ("Why does the moon have phases?", "And how long do they last?"):
        record = pipeline.turn("c", text)
        assert not record.error
        assert "selector" not in record.fallbacks
        ranked = [record.hits[rank - 1].passage.id for rank in record.trace["selector"]["ranks"]]
        assert [item.passage.id for item in record.evidence.items] == ranked
