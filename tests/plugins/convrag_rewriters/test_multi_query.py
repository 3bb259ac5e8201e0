"""`rewriter=multi_query`: an ambiguous follow-up becomes several queries, by a language model."""

import json
from typing import Any

import pytest

from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Question, Turn
from convrag.api.errors import LLMError, RunStopped
from convrag.api.queries import Query, Rewrite
from convrag.config.compose import compose
from convrag.testing import RecordedLLM, RewriterContract
from convrag.turn.wiring import Wiring
from convrag_fusion.retriever import group_queries
from convrag_fusion.rewriters import EnsembleRewriter
from convrag_rewriters.baselines import NoRewriter
from convrag_rewriters.multi_query import MultiQueryRewriter

ASKED = ("Is aspirin or ibuprofen better for a headache?", "Aspirin and ibuprofen both help.")


class Stops(RecordedLLM):
    def complete(self, prompt: Prompt) -> Completion:
        raise RunStopped("too dear")


class Fails(RecordedLLM):
    def complete(self, prompt: Prompt) -> Completion:
        raise LLMError("no reply", provider="test")


def ask(text: str, *exchanges: tuple[str, str]) -> Question:
    history = tuple(Turn(f"c<::>{n}", *each) for n, each in enumerate(exchanges, 1))
    return Question(text, "c", f"c<::>{len(history) + 1}", number=len(history) + 1, history=history)


def reply(*readings: tuple[str, object], ambiguous: object = True, why: str = "which drug") -> str:
    rows = [{"question": text, "weight": weight} for text, weight in readings]
    return json.dumps({"ambiguous": ambiguous, "why": why, "readings": rows})


def rewrite_by(*replies: str, text: str = "Is it safe for children?", **parameters: Any) -> Rewrite:
    """The rewrite where a model gives a reply, and another if it is asked again."""
    recorded = {"could not be read": replies[1]} if len(replies) > 1 else {}
    return MultiQueryRewriter(
        llm=RecordedLLM(replies={**recorded, "": replies[0]}), **parameters
    ).rewrite(ask(text, ASKED))


class TestMultiQuery(RewriterContract):
    def make(self) -> MultiQueryRewriter:
        return MultiQueryRewriter(llm=RecordedLLM(replies={"": reply(("Is copper safe?", 1))}))


def test_a_first_question_asks_nothing() -> None:
    rewrite = MultiQueryRewriter(llm=Fails(replies={})).rewrite(ask("Is it safe?"))
    assert rewrite.queries == (Query("Is it safe?"),)
    assert not rewrite.fallback


def test_the_model_gives_readings_with_weights() -> None:
    rewrite = rewrite_by(
        reply(("Is ibuprofen safe for children?", 1), ("Is aspirin safe for children?", 3))
    )
    assert rewrite.queries == (
        Query("Is aspirin safe for children?", 0.75, source="reading1"),
        Query("Is ibuprofen safe for children?", 0.25, source="reading2"),
    )
    assert rewrite.trace["why"] == "which drug"


def test_the_prompt_has_the_history_and_the_most_readings() -> None:
    llm = RecordedLLM(replies={"": reply(("Is aspirin safe?", 1))})
    MultiQueryRewriter(llm=llm).rewrite(ask("Is it safe?", ASKED))
    system, user = (message.content for message in llm.prompts[0].messages)
    assert "at most 3 of them" in system
    assert "User: Is aspirin or ibuprofen better" in user
    assert user.endswith("The question: Is it safe?")


@pytest.mark.parametrize(
    ("readings", "ambiguous", "queries"),
    [
        ([("A b c?", 1), ("a, b c", 1), ("D?", 2)], True, {"A b c?": 0.5, "D?": 0.5}),
        ([("A?", 0.9), ("B?", 0.1)], False, {"A?": 1.0}),
        ([("A?", 0), ("B?", -3)], True, {"A?": 0.5, "B?": 0.5}),
        ([("A?", 1), ("B?", 0)], True, {"A?": 1.0}),
        ([(f"{letter}?", 1) for letter in "ABCDE"], True, {"A?": 1 / 3, "B?": 1 / 3, "C?": 1 / 3}),
        ([("Standalone question: 'A?'", 1), ("", 1), ("x" * 500, 5)], True, {"A?": 1.0}),
        ([("A?", "0.5"), ("B?", 0.5)], None, {"A?": 0.5, "B?": 0.5}),
    ],
)
def test_what_is_made_of_a_reply(
    readings: list[tuple[str, object]], ambiguous: object, queries: dict[str, float]
) -> None:
    rewrite = rewrite_by(reply(*readings, ambiguous=ambiguous))
    assert {query.text: query.weight for query in rewrite.queries} == pytest.approx(queries)
    assert rewrite.trace["ambiguous"] is (len(queries) > 1)
    assert not rewrite.fallback


def test_a_reply_that_cannot_be_read_is_asked_for_again() -> None:
    rewrite = rewrite_by("It may mean both.", reply(("Is aspirin safe?", 1)))
    assert rewrite.queries == (Query("Is aspirin safe?"),)
    assert not rewrite.fallback


@pytest.mark.parametrize(
    "bad", ["I cannot tell.", '{"readings": []}', '{"ambiguous": true}', reply(("", 1)), "[]"]
)
def test_after_bad_replies_the_question_is_searched_for(bad: str) -> None:
    rewrite = rewrite_by(bad, bad)
    assert rewrite.queries == (Query("Is it safe for children?"),)
    assert rewrite.fallback


def test_a_model_that_fails_leaves_the_question() -> None:
    rewrite = MultiQueryRewriter(llm=Fails(replies={})).rewrite(ask("Is it safe?", ASKED))
    assert rewrite.queries == (Query("Is it safe?"),)
    assert "no reply" in rewrite.fallback
    with pytest.raises(RunStopped):
        MultiQueryRewriter(llm=Stops(replies={})).rewrite(ask("Is it safe?", ASKED))


def test_readings_are_searched_by_themselves_in_an_ensemble_too() -> None:
    llm = RecordedLLM(replies={"": reply(("Is aspirin safe?", 1), ("Is ibuprofen safe?", 1))})
    several = MultiQueryRewriter(llm=llm)
    rewrite = EnsembleRewriter(first=NoRewriter(), second=several, third=None).rewrite(
        ask("Is it safe?", ASKED)
    )
    assert [query.source for query in rewrite.queries] == [
        "first",
        "second/reading1",
        "second/reading2",
    ]
    assert [group.weight for group in group_queries(rewrite.queries)] == [1.0, 0.5, 0.5]
    assert len(group_queries(rewrite.queries, apart=True)) == 2


@pytest.mark.parametrize("option", ["multi_query", "resolve"])
def test_without_a_language_model_it_says_so_and_names_auto(option: str) -> None:
    (problem,) = Wiring(compose(f"rewriter={option}", "tracker=none")).get("rewriter").check()
    assert "it asks a language model, and the llm is none" in problem
    assert "rewriter=auto" in problem
