import itertools
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from convrag import Detector, Nugget, Passage
from convrag.sdk.text.sentences import find_sentence_spans
from convrag.testing import DetectorContract
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.sentences_detector import AutoDetector, SentencesDetector
from ginger_toys import KETTLE, Fixed, Scripted


class TestSentencesContract(DetectorContract):
    def make(self) -> SentencesDetector:
        return SentencesDetector()


def found(query: str, text: str, title: str = "", **parameters: Any) -> list[str]:
    return [
        nugget.text
        for nugget in SentencesDetector(**parameters).detect(query, Passage("p", text, title))
    ]


def test_sentences_that_match() -> None:
    assert found("Why does a kettle whistle?", KETTLE) == [
        "A kettle whistles because steam is forced through its lid."
    ]
    assert found("Who won the chess championship?", KETTLE) == []
    assert found("", KETTLE) == found("Why?", KETTLE) == found("Why is it?", "") == []


def test_the_title_counts() -> None:
    query = "When was the whistling kettle patented in Chicago?"
    text = "The kettle was patented in Chicago. Then it was taken home by train."
    assert found(query, text, lead=False, best=0.4) == [text[:35]]
    titled = found(query, text, "Whistling kettle in Chicago", lead=False, best=0.4)
    assert titled == [text[:35], text[36:]]


def test_what_a_text_says_first_counts_more() -> None:
    query = "Why is tea green?"
    text = "Tea is green here. Tea is green there. Tea is green in May. Tea is green in June."
    assert len(found(query, text, lead=False)) == 4
    assert found(query, text, best=0.5) == [
        "Tea is green here.",
        "Tea is green there.",
        "Tea is green in May.",
    ]


def test_a_passage_needs_enough_of_the_query() -> None:
    query, text = (
        "When was the whistling kettle patented in Chicago?",
        "One was patented very late.",
    )
    assert found(query, text) == [text]
    assert found(query, text, threshold=0.33) == []
    assert found(query, text, "Whistling kettle", threshold=0.33) == [text]


def test_what_is_far_behind_the_best_is_something_else() -> None:
    text = "The kettle was patented in Chicago. A kettle is hot here."
    query = "When was the kettle patented in Chicago?"
    assert found(query, text) == ["The kettle was patented in Chicago."]
    assert len(found(query, text, best=0.1)) == 2


def test_headings_are_no_nuggets() -> None:
    text = "# Whistling kettles of steel\n\nThe kettle is whistling."
    assert found("Whistling kettle?", text) == ["The kettle is whistling."]


def test_sentences_remember_their_places() -> None:
    text = "1. Dr. Oe spoke .\r\n\r\n2. He `` left . '' Nobody cared!  Why?\t(No.)"
    sentences = [text[start:end] for start, end in find_sentence_spans(text)]
    assert sentences == [
        "1. Dr. Oe spoke .",
        "2. He `` left . ''",
        "Nobody cared!",
        "Why?",
        "(No.)",
    ]


@settings(max_examples=100)
@given(st.text(alphabet="aB .!?'\"”\n1", max_size=80))
def test_sentences_cover_the_text_in_order(text: str) -> None:
    spans = find_sentence_spans(text)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(
        text.split()
    )
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


class TestAutoContract(DetectorContract):
    def make(self) -> AutoDetector:
        llm = Scripted(lambda passage: passage)
        return AutoDetector(llm=llm, tagging=LlmDetector(llm=llm), matching=SentencesDetector())


@pytest.mark.parametrize(
    ("tasks", "expected"), [(None, "tagged"), (frozenset({"nuggets"}), "matched")]
)
def test_the_detector_follows_the_llm(tasks: frozenset[str] | None, expected: str) -> None:
    """`llm=gpt4` left detector=sentences in place."""

    class Named(Detector):
        def __init__(self, name: str) -> None:
            self.name = name

        def detect(self, query: str, passage: Passage) -> list[Nugget]:
            return [Nugget(self.name, passage.id, 0, 1)]

    class Ruled(Fixed):
        @property
        def tasks(self) -> frozenset[str] | None:
            return tasks

    detector = AutoDetector(llm=Ruled(""), tagging=Named("tagged"), matching=Named("matched"))
    assert [nugget.text for nugget in detector.detect("?", Passage("p", "text"))] == [expected]
    assert ("detector=llm" if tasks is None else "detector=sentences") in detector.note()
