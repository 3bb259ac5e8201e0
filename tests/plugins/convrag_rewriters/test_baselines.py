from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from convrag import Embedder, LLMError, Question, Turn
from convrag.sdk.llm.rewriter import clean_reply
from convrag.testing import RewriterContract
from convrag_rewriters.baselines import AllQuestionsRewriter, LastNRewriter, NoRewriter
from convrag_rewriters.full_history import FullHistoryRewriter
from convrag_rewriters.threshold import ThresholdRewriter
from toys import Says

DOWN = LLMError("the server is down", provider="test")


class Angles(Embedder):
    """A text that says cos=.5 has that cosine with every text that says nothing of the kind."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.embedded += [("query: " if query else "") + text for text in texts]
        cosines = [
            float(text.partition("cos=")[2].split()[0]) if "cos=" in text else 1.0 for text in texts
        ]
        return np.array([[c, (1 - c * c) ** 0.5] for c in cosines], dtype=np.float32).reshape(
            len(texts), 2
        )


def history(*questions: str) -> tuple[Turn, ...]:
    return tuple(
        Turn(f"c<::>{n}", text, f"answer {n}") for n, text in enumerate(questions, start=1)
    )


def shown(llm: Says) -> list[str]:
    return [exchange["user"] for exchange in llm.prompts[-1].inputs["history"]]


class TestNone(RewriterContract):
    def make(self) -> NoRewriter:
        return NoRewriter()


class TestAllQuestions(RewriterContract):
    def make(self) -> AllQuestionsRewriter:
        return AllQuestionsRewriter()


class TestLastN(RewriterContract):
    def make(self) -> LastNRewriter:
        return LastNRewriter()


class TestFullHistory(RewriterContract):
    def make(self) -> FullHistoryRewriter:
        return FullHistoryRewriter(llm=Says("What is copper?"))


class TestThreshold(RewriterContract):
    def make(self) -> ThresholdRewriter:
        return ThresholdRewriter(llm=Says("What is copper?"), embedder=Angles())


def test_the_plain_rewriters() -> None:
    asked = Question("now?", history=history("one?", "two\n  lines?", "", "four?"))
    assert NoRewriter().rewrite(asked).text == "now?"
    assert AllQuestionsRewriter().rewrite(asked).text == "one?\ntwo lines?\nfour?\nnow?"
    assert (
        LastNRewriter().rewrite(asked).text == "four?\nnow?"
    )  # of two exchanges, one has no question
    assert LastNRewriter(n=3, answers=True).rewrite(asked).text.splitlines() == [
        "two lines?", "answer 2", "answer 3", "four?", "answer 4", "now?",
    ]  # fmt: skip
    assert LastNRewriter(n=99).rewrite(asked).trace["selected"] == [
        "c<::>1",
        "c<::>2",
        "c<::>3",
        "c<::>4",
    ]


def test_full_history_shows_both_speakers_in_order() -> None:
    llm = Says('Rewritten question: "What is copper used for?"')
    rewrite = FullHistoryRewriter(llm=llm).rewrite(
        Question("used for?", history=history("copper?", "its price?"))
    )
    assert rewrite.text == "What is copper used for?"
    assert rewrite.fallback == ""
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.sampling) == ("rewrite", {"temperature": 0.0, "max_tokens": 200})
    assert prompt.inputs == {
        "question": "used for?",
        "history": [
            {"user": "copper?", "assistant": "answer 1"},
            {"user": "its price?", "assistant": "answer 2"},
        ],
    }
    user = prompt.messages[-1].content
    assert (
        user.index("User: copper?")
        < user.index("Assistant: answer 1")
        < user.index("User: its price?")
    )
    assert user.endswith("used for?")
    assert rewrite.trace["prompt"] == FullHistoryRewriter(llm=llm).prompt_templates[0].hash


def test_a_first_turn_costs_nothing() -> None:
    llm, embedder = Says("What is copper?"), Angles()
    assert FullHistoryRewriter(llm=llm).rewrite(Question("copper?")).text == "copper?"
    assert (
        ThresholdRewriter(llm=llm, embedder=embedder).rewrite(Question("copper?")).text == "copper?"
    )
    assert llm.prompts == embedder.embedded == []


@pytest.mark.parametrize(
    "reply", ["", "  \n ", "Standalone question:", '""', "```\n```", "x" * 401]
)
def test_a_useless_reply_falls_back_to_the_question(reply: str) -> None:
    rewrite = FullHistoryRewriter(llm=Says(reply)).rewrite(
        Question("its price?", history=history("copper?"))
    )
    assert rewrite.text == "its price?"
    assert "reply" in rewrite.fallback
    assert rewrite.trace["reply"] == reply


def test_an_llm_that_fails_falls_back_and_says_why() -> None:
    asked = Question("its price?", history=history("copper?"))
    for stage in (
        FullHistoryRewriter(llm=Says(DOWN)),
        ThresholdRewriter(llm=Says(DOWN), embedder=Angles()),
    ):
        rewrite = stage.rewrite(asked)
        assert (rewrite.text, rewrite.fallback) == ("its price?", "the server is down")


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("What is it?", "What is it?"),
        ("\n\n  What is it?  \nBecause it was asked.", "What is it?"),
        ("**Standalone question:** What is it?", "What is it?"),
        ("Sure! Here is the rewritten question:\n“What is it?”", "What is it?"),
        ("Query: 'price of copper'", "price of copper"),
        ("```text\nWhat is it?\n```", "What is it?"),
        ("`What is it?`", "What is it?"),
        ('Who said "What is it?" and "Why?"', 'Who said "What is it?" and "Why?"'),
        ('"Yes" or "no"', '"Yes" or "no"'),
        ("How do I fix this query: SELECT 1", "How do I fix this query: SELECT 1"),
        ("What is C#", "What is C#"),
        ("銅の値段は？", "銅の値段は？"),
        ("Rewritten question: Question: why?", "why?"),
    ],
)
def test_cleaning(reply: str, question: str) -> None:
    assert clean_reply(reply) == question


def test_threshold_keeps_what_resembles_and_always_the_last() -> None:
    llm, embedder = Says("What is copper?"), Angles()
    asked = Question("now?", history=history("cos=.9 ", "cos=.29 ", "cos=.31 ", "cos=-.5 "))
    rewrite = ThresholdRewriter(llm=llm, embedder=embedder).rewrite(asked)
    assert shown(llm) == ["cos=.9 ", "cos=.31 ", "cos=-.5 "]
    assert rewrite.trace["selected"] == ["c<::>1", "c<::>3", "c<::>4"]
    assert rewrite.trace["similarities"] == {
        "c<::>1": 0.9,
        "c<::>2": 0.29,
        "c<::>3": 0.31,
        "c<::>4": -0.5,
    }
    assert llm.prompts[0].inputs["history"][0] == {"user": "cos=.9 ", "assistant": "answer 1"}


def test_threshold_keeps_the_most_similar_in_chronological_order() -> None:
    llm = Says("What is copper?")
    asked = Question("now?", history=history(*(f"cos=.{n} " for n in (5, 9, 4, 8, 7, 6, 1))))
    ThresholdRewriter(llm=llm, embedder=Angles()).rewrite(asked)
    assert shown(llm) == ["cos=.9 ", "cos=.8 ", "cos=.7 ", "cos=.6 ", "cos=.1 "]
    ThresholdRewriter(llm=llm, embedder=Angles(), turns=1).rewrite(asked)
    assert shown(llm) == ["cos=.1 "]


def test_each_exchange_is_embedded_once_per_conversation() -> None:
    embedder, memory = Angles(), {}
    stage = ThresholdRewriter(llm=Says("What is copper?"), embedder=embedder)
    turns = history("one", "two", "two")
    for seen in (1, 2, 3):
        stage.rewrite(Question(f"q{seen}", history=turns[:seen], stage_state=memory))
    exchanges = [text for text in embedder.embedded if not text.startswith("query: ")]
    assert exchanges == ["one\nanswer 1", "two\nanswer 2", "two\nanswer 3"]
    assert [text for text in embedder.embedded if text not in exchanges] == [
        "query: q1",
        "query: q2",
        "query: q3",
    ]
