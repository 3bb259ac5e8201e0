from typing import Any

from convrag import LLM, Answer, Completion, Evidence, EvidenceItem, Passage, PromptTemplate, TurnRecord
from convrag.sdk.llm_rewriter import suggest_follow_ups

TEMPLATE = PromptTemplate("suggest", package="convrag.sdk")
PASSAGES = [Passage("a", "...", "Tides"), Passage("b", "...", "Phases"), Passage("c", "...", "Phases")]
EVIDENCE = Evidence(tuple(EvidenceItem(n, passage, "...") for n, passage in enumerate(PASSAGES, start=1)))
RECORD = TurnRecord("c", "t", "d", 1, "Why tides?", evidence=EVIDENCE, answer=Answer("The Moon [1].", ("a",)))


class Suggesting(LLM):
    def __init__(self, text: str) -> None:
        self.text = text
        self.prompts: list[Any] = []

    def complete(self, prompt: Any) -> Completion:
        self.prompts.append(prompt)
        return Completion(self.text)

    def count_tokens(self, text: str) -> int:
        return len(text)


def test_each_question_is_suggested_once() -> None:
    llm = Suggesting('1. What are phases?\n\n- "How old is it?"\n* What are phases?\n4) And then?')
    assert suggest_follow_ups(llm, TEMPLATE, RECORD, 2) == ["What are phases?", "How old is it?"]
    (prompt,) = llm.prompts
    assert prompt.messages[-1].content.count("Phases") == 1
    assert "Tides" not in prompt.messages[-1].content.partition("The answer")[2]


def test_a_number_that_begins_a_question_stays() -> None:
    llm = Suggesting("3D printing?\n1. 24 hours of what?\n**2) 1.5 volts?**\n- 7. Which one?\n• 2001 or 2010?")
    said = suggest_follow_ups(llm, TEMPLATE, RECORD, 5)
    assert said == ["3D printing?", "24 hours of what?", "1.5 volts?", "Which one?", "2001 or 2010?"]


def test_nothing_is_asked_where_there_is_nothing_to_go_on_from() -> None:
    llm = Suggesting("What?")
    failed = TurnRecord("c", "t", "d", 1, "Why tides?", error="generator: no")
    assert suggest_follow_ups(llm, TEMPLATE, failed, 3) == suggest_follow_ups(llm, TEMPLATE, RECORD, 0) == []
    assert not llm.prompts
