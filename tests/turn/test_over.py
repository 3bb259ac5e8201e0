"""Passages given as objects are the corpus of a pipeline."""

from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, Conversations, Passage, Pipeline
from convrag.api.errors import OtherConfiguration

PASSAGES = [
    Passage("moon", "The Moon is 384,400 kilometres away from the Earth.", "Moon", "http://x/moon"),
    Passage("tea", "Green tea is steeped at 80 degrees.", metadata={"page": 3}),
    Passage("mars", "Mars has two small moons, Phobos and Deimos."),
]
STAGES = ("llm=extractive", "rewriter=last_n", "metrics=[]")


def test_questions_are_answered_from_the_passages(here: Path) -> None:
    chat = Pipeline.over(iter(PASSAGES), *STAGES)
    record = chat.turn("c", "How hot is green tea steeped?")
    assert record.hits[0].passage == PASSAGES[1]
    assert record.answer.citations == ("tea",)
    assert "dataset" not in record.trace
    other = Pipeline.over(
        [*PASSAGES, Passage("new", "Black tea is steeped at 100 degrees.")], *STAGES
    )
    assert other.turn("c", "How hot is black tea steeped?").hits[0].passage.id == "new", (
        "the index is that of others"
    )


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_any_retriever_searches_them(retriever: str, here: Path) -> None:
    chat = Pipeline.over(PASSAGES, *STAGES, f"retriever={retriever}")
    assert {hit.passage.id for hit in chat.turn("c", "green tea").hits} <= {"moon", "tea", "mars"}


def test_a_conversation_over_other_passages_is_another(here: Path) -> None:
    conversations = Conversations(here / "c.db")
    Pipeline.over(PASSAGES, *STAGES, conversations=conversations).turn("c", "green tea?")
    Pipeline.over(list(PASSAGES), *STAGES, conversations=conversations).turn("c", "and the moon?")
    with pytest.raises(
        OtherConfiguration,
        match=r"begun with dataset\.contents=\w+; this is dataset\.contents=\w+\.",
    ):
        Pipeline.over(PASSAGES[:2], *STAGES, conversations=conversations).turn("c", "and Mars?")
    with pytest.raises(
        OtherConfiguration, match="begun with dataset=passages; this is dataset=sample"
    ):
        Pipeline.compose(*STAGES, conversations=conversations).turn("c", "and Mars?")


@pytest.mark.parametrize(
    ("passages", "message"),
    [
        ([], "there are no passages to search"),
        (["text"], r"passage 1 is 'text': give convrag\.Passage"),
        ([Passage("a", "x"), Passage("a", "y")], "passage 2: an earlier passage has its id 'a'"),
        ([Passage("a", None)], "passage 1 is Passage.*text=None"),
        ([Passage(3, "x")], "passage 1 is Passage.id=3"),
    ],
)
def test_what_is_no_corpus_is_said(passages: Any, message: str, here: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        Pipeline.over(passages, *STAGES)


def test_a_data_set_cannot_be_chosen_too(here: Path) -> None:
    with pytest.raises(ConfigError, match="given as objects, so no data set can be chosen"):
        Pipeline.over(PASSAGES, *STAGES, "dataset=sample")
