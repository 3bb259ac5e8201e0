import json
from collections.abc import Sequence
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from chat_toys import Adds
from convrag import (
    Answer,
    ConfigError,
    ConvragError,
    Evidence,
    EvidenceItem,
    Hit,
    Nugget,
    Passage,
    Question,
)
from convrag.score import scoring
from convrag.score.summary import summarize
from convrag.testing import GeneratorContract
from convrag.turn.pipeline import Pipeline
from convrag_ginger.clusters import SizeRanker
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.sentences_detector import SentencesDetector
from ginger_toys import COFFEE, TEA, First, Scores, Scripted, Subjects, answer, ginger, said
from toys import EvenRanker, ListRetriever, PlainContext


class TestGingerContract(GeneratorContract):
    def make(self) -> GingerGenerator:
        return ginger(detector=SentencesDetector(threshold=0))


def test_the_order_follows_the_scores() -> None:
    """The defect of the public code: it kept the order of the sizes, whatever the scores said."""
    ranker = Scores(lambda text: -float(len(text.splitlines())))
    found = answer(ginger(ranker=ranker), "Dan eats rice.", TEA, COFFEE)
    ((query, texts),) = ranker.asked
    assert query == "Who drinks what?"
    assert texts == [
        "Dan eats rice.",
        "Ann drinks green tea.;\nAnn grows mint.;\nAnn sells cups.",
        "Bob roasts coffee.;\nBob drinks milk.",
    ]
    assert found.text == "Dan eats rice. [1] Bob roasts coffee. [3] Ann drinks green tea. [2]"
    assert found.citations == ("p1", "p3", "p2")
    assert found.trace["order"] == [0, 2, 1]
    assert [cluster["score"] for cluster in found.trace["clusters"]] == [-1, -3, -2]
    by_size = answer(ginger(ranker=SizeRanker()), "Dan eats rice.", TEA, COFFEE)
    assert by_size.citations == ("p2", "p3", "p1")
    assert answer(ginger(), "Dan eats rice.", TEA, COFFEE).citations == (
        "p1",
        "p2",
        "p3",
    )  # no scores: as they came


def test_only_the_best_clusters_are_summarised() -> None:
    summarizer = First()
    ranker = Scores(lambda text: float("coffee" in text))
    found = answer(ginger(ranker=ranker, summarizer=summarizer, clusters=1), TEA, COFFEE)
    assert found.text == "Bob roasts coffee. [2]"
    assert summarizer.asked == [
        ("Who drinks what?", ["Bob roasts coffee.", "Bob drinks milk."], 35)
    ]


def test_without_nuggets_there_is_no_answer() -> None:
    for found in (answer(ginger(), "", " \n"), answer(ginger())):
        assert found == Answer(
            "I could not find this in the passages.",
            (),
            found.trace
            | {
                "outcome": "unanswerable",
                "query": "Who drinks what?",
                "nuggets": [],
                "reduced": 0,
                "left_out": 0,
            },
        )


def test_where_nothing_can_be_said_of_the_nuggets_there_is_no_answer() -> None:
    found = answer(ginger(summarizer=said("")), "[1]")
    assert (found.text, found.citations) == ("I could not find this in the passages.", ())
    assert (found.trace["outcome"], len(found.trace["nuggets"])) == ("unanswerable", 1)


def test_a_single_nugget_is_a_single_sentence() -> None:
    found = answer(ginger(), "Ann drinks tea.")
    assert (found.text, found.trace["outcome"]) == ("Ann drinks tea. [1]", "single")


def test_two_or_three_are_clusters_of_their_own() -> None:
    clusterer = Subjects()
    found = answer(ginger(clusterer=clusterer), TEA)
    assert found.text == "Ann drinks green tea. [1] Ann grows mint. [1] Ann sells cups. [1]"
    assert (clusterer.asked, found.trace["outcome"]) == ([], "answered")
    answer(ginger(clusterer=clusterer), TEA, "Ann is old.")
    assert len(clusterer.asked) == 1


def test_a_hint_stands_for_its_passage() -> None:
    item = EvidenceItem(4, Passage("p", "Ann drinks tea."), "see above", hint=True)
    found = ginger().generate(Question("Who?"), Evidence((item,)))
    assert (found.text, found.trace["query"]) == ("Ann drinks tea. [4]", "Who?")


def test_the_trace_holds_everything() -> None:
    trace = answer(ginger(), TEA, COFFEE).trace
    assert trace["nuggets"][1] == {
        "text": "Ann grows mint.",
        "passage_id": "p1",
        "start": 22,
        "end": 37,
    }
    assert trace["sentences"][1] == {
        "text": "Bob roasts coffee.",
        "cluster": 1,
        "passages": ("p2",),
        "supported": True,
        "share": 1.0,
        "unknown": (),
        "checked": "words",
    }
    json.dumps(trace)


def test_clusters_of_one_have_no_least_size() -> None:
    with pytest.raises(ConfigError, match="least_nuggets"):
        ginger(least_nuggets=2)


def test_all_passages_are_marked_at_once() -> None:
    """Five calls went out one by one, and the first word came after the last of them."""
    together = Barrier(5, timeout=20)

    class Waits(SentencesDetector):
        def detect(self, query: str, passage: Passage) -> list[Nugget]:
            together.wait()
            return super().detect(query, passage)

    texts = [f"Ann drinks tea number {n} every day." for n in range(5)]
    assert (
        answer(ginger(detector=Waits()), *texts).trace
        == answer(ginger(detector=SentencesDetector()), *texts).trace
    )


def test_a_model_that_ignores_the_tags_is_said_to() -> None:
    """Its answer to every question was that the passages do not answer it, and the run was whole."""

    class Finds(ListRetriever):
        def retrieve(self, queries: Any, k: int) -> list[Hit]:
            return [
                Hit(Passage(f"p{n}", f"The kettle of house {n} whistles loudly."), 1.0)
                for n in range(3)
            ]

    pipeline = Pipeline(
        rewriter=Adds(),
        retriever=Finds(),
        reranker=EvenRanker(),
        context=PlainContext(),
        generator=ginger(detector=LlmDetector(llm=Scripted(lambda _: "Sure!"))),
    )
    records = [
        pipeline.turn("c", question) for question in ("Who has a kettle?", "Which kettle whistles?")
    ]
    for record in records:
        assert (
            "had no tags: this model does not follow the format; detector=sentences"
            in record.fallbacks["generator"]
        )
        assert record.answer.citations
    assert summarize(records, scoring.Scores(records, {}, {})).always_fell_back == ("generator",)
    report = pipeline.stages.generator.report(records)
    assert report
    assert "6 replies had no tags" in report.lines[1]


def test_a_broken_stage_is_named() -> None:
    class Short(Scores):
        def score(self, query: str, texts: Sequence[str]) -> Any:
            return np.zeros(1)

    with pytest.raises(ConvragError, match="Short gave 1 scores for 2 clusters"):
        answer(ginger(ranker=Short()), TEA, COFFEE)
