"""`reranker=cascade`: several rankers in a row, and what the record says of each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from convrag import Hit, Passage, Pipeline, Question, Ranker
from convrag.api.errors import ConfigError, RunStopped
from convrag.config.compose import compose
from convrag.testing import RankerContract, question
from convrag_retrieval.cascade import CascadeRanker
from convrag_retrieval.rankers import BM25Ranker
from toys import pipeline


class Numbers(Ranker):
    """Scores a text by one of its digits, or fails; it keeps the texts that it was given."""

    def __init__(self, place: int, error: BaseException | None = None) -> None:
        self.place = place
        self.error = error
        self.given: list[list[str]] = []
        self.questions: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        if self.error:
            raise self.error
        self.given.append(list(texts))
        self.questions.append(query)
        return np.array([float(text[self.place]) for text in texts])

    def score_for(self, question: Question, texts: Sequence[str]) -> Any:
        return self.score(f"{question.text} after {len(question.history)} turns", texts)


HITS = [Hit(Passage(f"p{text}", text), 1.0) for text in ("119", "325", "233", "441", "517")]
ASKED = question(turns=2)


class TestContract(RankerContract):
    def make(self) -> CascadeRanker:
        return CascadeRanker(
            first=BM25Ranker(), second=BM25Ranker(k1=1.2), keep_first=2, keep_second=1
        )


class TestContractOfThree(RankerContract):
    def make(self) -> CascadeRanker:
        return CascadeRanker(
            first=BM25Ranker(), second=BM25Ranker(k1=1.2), third=BM25Ranker(b=0.5), keep_first=3,
            keep_second=2,
        )  # fmt: skip


def test_each_ranker_is_given_the_best_of_the_one_before_it() -> None:
    rankers = [Numbers(0), Numbers(1), Numbers(2)]
    cascade = CascadeRanker(
        first=rankers[0], second=rankers[1], third=rankers[2], keep_first=3, keep_second=2
    )
    ranking = cascade.rank_hits(ASKED, HITS)
    assert [ranker.given for ranker in rankers] == [
        [["119", "325", "233", "441", "517"]],
        [["517", "441", "325"]],
        [["441", "325"]],
    ]
    scores = list(ranking.scores)
    order = sorted(range(5), key=lambda place: -scores[place])
    assert [HITS[place].passage.text for place in order] == ["325", "441", "517", "233", "119"]
    assert ranking.trace["steps"] == [
        {
            "step": "first",
            "kept": 3,
            "scores": {"p119": 1.0, "p325": 3.0, "p233": 2.0, "p441": 4.0, "p517": 5.0},
        },
        {"step": "second", "kept": 2, "scores": {"p325": 2.0, "p441": 4.0, "p517": 1.0}},
        {"step": "third", "kept": 2, "scores": {"p325": 5.0, "p441": 1.0}},
    ]
    assert not ranking.fallback
    texts = [hit.passage.text for hit in HITS]
    assert list(ranking.scores) == cascade.score_for(ASKED, texts).tolist()


def test_rankers_see_the_conversation_as_rerankers_and_the_query_alone_as_rankers() -> None:
    rankers = [Numbers(0), Numbers(1)]
    cascade = CascadeRanker(first=rankers[0], second=rankers[1], keep_first=2)
    cascade.rank_hits(ASKED, HITS)
    cascade.score("alone", [hit.passage.text for hit in HITS])
    for ranker in rankers:
        assert ranker.questions == [f"{ASKED.text} after 2 turns", "alone"]


def test_a_ranker_that_would_keep_all_is_not_asked() -> None:
    rankers = [Numbers(0), Numbers(1)]
    ranking = CascadeRanker(first=rankers[0], second=rankers[1], keep_first=5).rank_hits(
        ASKED, HITS
    )
    assert rankers[0].given == []
    assert [row["step"] for row in ranking.trace["steps"]] == ["second"]


def test_a_reranker_that_fails_keeps_the_order_before_it() -> None:
    broken = Numbers(1, ValueError("no model"))
    cascade = CascadeRanker(first=Numbers(0), second=broken, third=Numbers(2), keep_first=4,
                            keep_second=2)  # fmt: skip
    ranking = cascade.rank_hits(ASKED, HITS)
    scores = list(ranking.scores)
    order = sorted(range(5), key=lambda place: -scores[place])
    assert [HITS[place].passage.text for place in order] == ["517", "441", "325", "233", "119"]
    assert ranking.fallback == "second: ValueError: no model"
    assert ranking.trace["steps"][1] == {
        "step": "second",
        "kept": 2,
        "failed": "ValueError: no model",
    }
    with pytest.raises(ValueError, match="no model"):
        cascade.score("alone", [hit.passage.text for hit in HITS])


@pytest.mark.parametrize("error", [RunStopped("too dear"), ImportError("half a module")])
def test_a_run_that_must_stop_and_a_broken_library_are_no_fallback(error: Exception) -> None:
    cascade = CascadeRanker(first=Numbers(0, error), second=Numbers(1), keep_first=2)
    with pytest.raises(type(error)):
        cascade.rank_hits(ASKED, HITS)


def test_numbers_that_drop_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="keep_second=50: it must be below keep_first=50"):
        CascadeRanker(first=Numbers(0), second=Numbers(1), third=Numbers(2), keep_second=50)
    CascadeRanker(first=Numbers(0), second=Numbers(1), keep_first=5, keep_second=50)


def test_the_record_has_the_scores_of_each_step() -> None:
    cascade = CascadeRanker(first=Numbers(-1), second=Numbers(-1), keep_first=2)
    record = pipeline(reranker=cascade).turn("c", "what?")
    assert [hit.passage.id for hit in record.hits] == ["p2", "p1", "p0"]
    assert record.trace["reranker"]["steps"] == [
        {"step": "first", "kept": 2, "scores": {"p0": 0.0, "p1": 1.0, "p2": 2.0}},
        {"step": "second", "kept": 2, "scores": {"p1": 1.0, "p2": 2.0}},
    ]


def test_the_command_chooses_rankers_and_their_parameters() -> None:
    chosen = compose(
        "reranker=cascade", "reranker.second=embedding", "reranker.first.k1=1.1",
        "reranker.third=bm25_okapi", "reranker.keep_first=20",
    )  # fmt: skip
    reranker = Pipeline.compose(
        "dataset=sample", "reranker=cascade", "reranker.second=embedding",
        "reranker.first.k1=1.1", "reranker.third=bm25_okapi", "reranker.keep_first=20",
        "generator=none", "retriever=bm25", "tracker=none",
    ).stages.reranker  # fmt: skip
    assert chosen.reranker.keep_first == 20
    assert isinstance(reranker, CascadeRanker)
    assert list(reranker.rankers) == ["first", "second", "third"]
    assert reranker.rankers["first"].k1 == 1.1  # type: ignore[attr-defined]
    assert reranker.keep == {"first": 20, "second": 10, "third": None}
