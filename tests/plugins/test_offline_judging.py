"""llm=extractive as a judge: nuggets, importance and support by the words in common."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from convrag.api.errors import LLMError
from convrag.api.stages import Dataset
from convrag.api.types import Conversation, Passage, Prompt
from convrag.store.store import Store
from convrag_offline.extractive import ExtractiveLLM

TEXT = "A kettle whistles because steam is forced through two small openings. Tea is green. It was patented in 1890."


class Corpus(Dataset):
    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus(self, domain: str) -> Iterator[Passage]:
        yield Passage("1", TEXT)
        yield Passage("2", "Tea is drunk.")


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> ExtractiveLLM:
    return ExtractiveLLM(dataset=Corpus(), store=Store(tmp_path_factory.mktemp("store")))


def ask(llm: ExtractiveLLM, task: str, **inputs: Any) -> Any:
    return json.loads(llm.complete(Prompt(task, (), inputs)).text)


def nuggetise(llm: ExtractiveLLM, question: str, **inputs: Any) -> list[str]:
    given = {"history": [], "passages": [{"title": "", "text": TEXT}], "nuggets": [], "most": 30, "words": 12}
    found: list[str] = ask(llm, "nuggetise", question=question, **(given | inputs))["nuggets"]
    return found


def test_nuggets_are_the_beginnings_of_sentences_that_match(llm: ExtractiveLLM) -> None:
    question = "Why does a kettle whistle?"
    assert nuggetise(llm, question) == ["A kettle whistles because steam is forced through two small openings."]
    assert nuggetise(llm, question, words=4) == ["A kettle whistles because"]
    assert nuggetise(llm, "What is a violin?") == []


def test_the_list_grows_and_keeps_its_limit(llm: ExtractiveLLM) -> None:
    question = "Why does a kettle whistle?"
    known = ["Kettles are old."]
    both = nuggetise(llm, question, nuggets=known)
    assert both == ["A kettle whistles because steam is forced through two small openings.", *known]
    assert nuggetise(llm, question, nuggets=known, most=1) == both[:1]
    assert nuggetise(llm, question, nuggets=both) == both


def test_a_question_that_refers_back_brings_its_words_along(llm: ExtractiveLLM) -> None:
    history = [{"user": "Does a kettle whistle?", "assistant": "A kettle whistles."}]
    assert nuggetise(llm, "And why is that?") == []
    assert nuggetise(llm, "And why is that?", history=history)


def test_what_covers_half_of_the_question_is_vital(llm: ExtractiveLLM) -> None:
    nuggets = ["Kettles whistle.", "Tea is green."]
    labels = ask(llm, "importance", question="Why does a kettle whistle?", history=[], nuggets=nuggets)
    assert labels == {"labels": ["vital", "okay"]}


def test_support_has_all_words_and_partial_support_half_of_them(llm: ExtractiveLLM) -> None:
    answer = "Kettles whistled when steam came through small openings."
    nuggets = [
        "A kettle whistles with steam.",
        "Steam is forced through openings of iron.",
        "Tea is green.",
        "The and of",
    ]
    assert ask(llm, "assign", nuggets=nuggets, answer=answer) == {"labels": ["support", "partial", "none", "none"]}
    assert ask(llm, "assign", nuggets=[], answer=answer) == {"labels": []}


def test_it_says_which_tasks_it_knows(llm: ExtractiveLLM) -> None:
    assert {"answer", "nuggetise", "importance", "assign"} <= llm.tasks
    assert "judge" not in llm.tasks
    with pytest.raises(LLMError, match="not 'judge'"):
        ask(llm, "judge", answer="x")
