"""The turn and the results with a trace of its retriever and its reranker."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag import Candidates, Hit, Passage, Query, Question, Ranker, Ranking, Retriever, Store
from convrag.api.errors import StageFault
from convrag.registry.option import Option
from convrag.turn.stage_pool import StagePool
from toys import pipeline

FURTHER = Hit(Passage("p9", "text 9"), 0.5)


def build(group: str, cls: Any, folder: Path) -> Any:
    option = Option(group, "mine", cls, "acme", "acme-dist")
    return StagePool().get(option, {}, {}, Store(folder), group)


class Contending(toys.ListRetriever):
    """Finds three passages, and gives a fourth one to the reranker."""

    def find_candidates(self, question: Question, queries: Sequence[Query], k: int) -> Candidates:
        return Candidates(self.retrieve(queries, k), [FURTHER], {"further": "p9"})


class Longest(Ranker):
    """Ranks by the numbers that end the texts."""

    def score(self, query: str, texts: Sequence[str]) -> Any:
        import numpy as np

        return np.array([float(text[-1]) for text in texts])

    def rank_hits(self, question: Question, hits: Sequence[Hit]) -> Ranking:
        ranking = super().rank_hits(question, hits)
        return Ranking(ranking.scores, {"ranked": len(hits)}, fallback="half of it")


def test_a_contender_replaces_a_hit_that_the_reranker_ranks_lower() -> None:
    record = pipeline(retriever=Contending(), reranker=Longest()).turn("c", "what?")
    assert [hit.passage.id for hit in record.hits] == ["p9", "p2", "p1"]
    assert record.trace["retriever"] == {"further": "p9"}
    assert record.trace["reranker"] == {"ranked": 4}
    assert record.fallbacks == {"reranker": "half of it"}


@pytest.mark.parametrize("reranker", [toys.EvenRanker(), None])
def test_without_a_reranking_contenders_are_dropped(reranker: Ranker | None) -> None:
    class Broken(Ranker):
        def score(self, query: str, texts: Sequence[str]) -> Any:
            raise ValueError("no model")

    record = pipeline(retriever=Contending(), reranker=reranker or Broken()).turn("c", "what?")
    assert [hit.passage.id for hit in record.hits] == ["p0", "p1", "p2"]
    assert bool(record.fallbacks) == (reranker is None)


def test_contenders_of_another_turn_are_gone() -> None:
    class Once(Contending):
        def find_candidates(
            self, question: Question, queries: Sequence[Query], k: int
        ) -> Candidates:
            if question.number == 1:
                return super().find_candidates(question, queries, k)
            return Candidates(self.retrieve(queries, k))

    chat = pipeline(retriever=Once(), reranker=Longest())
    chat.turn("c", "what?")
    record = chat.turn("c", "and now?")
    assert [hit.passage.id for hit in record.hits] == ["p2", "p1", "p0"]


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ([FURTHER], "find_candidates returned a list, which is not a Candidates"),
        (Candidates([FURTHER] * 2), "find_candidates returned the passage 'p9' twice"),
        (Candidates([FURTHER], [FURTHER]), "find_candidates returned the passage 'p9' twice"),
        (Candidates([FURTHER], None), "find_candidates returned None, which is not a list of Hit"),
        (Candidates([], trace=None), "find_candidates returned None, which is not a Mapping"),
    ],
)
def test_candidates_that_will_not_do_name_the_retriever(
    returned: Any, problem: str, tmp_path: Path
) -> None:
    members = {
        "__module__": __name__,
        "retrieve": toys.ListRetriever.retrieve,
        "find_candidates": lambda self, question, queries, k: returned,
    }
    retriever = build("retriever", type("Odd", (Retriever,), members), tmp_path)
    with pytest.raises(StageFault, match=problem):
        retriever.find_candidates(Question("q"), [Query("q")], 3)


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ([1.0, 2.0], "rank_hits returned a list, which is not a Ranking"),
        (Ranking([1.0]), "rank_hits returned 1 scores for 2 texts"),
        (Ranking([1.0, float("nan")]), "rank_hits returned NaN"),
    ],
)
def test_rankings_that_will_not_do_name_the_ranker(
    returned: Any, problem: str, tmp_path: Path
) -> None:
    members = {
        "__module__": __name__,
        "score": toys.ReverseRanker.score,
        "rank_hits": lambda self, question, hits: returned,
    }
    ranker = build("ranker", type("Odd", (Ranker,), members), tmp_path)
    with pytest.raises(StageFault, match=problem):
        ranker.rank_hits(Question("q"), [FURTHER, Hit(Passage("p1", "text 1"), 1.0)])
