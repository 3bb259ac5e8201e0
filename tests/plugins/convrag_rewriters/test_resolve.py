"""`rewriter=resolve`: what a language model links, and the question with its references written
out.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from convrag import Completion, LLMError, Prompt, Query, Question, Rewrite, Rewriter, Turn
from convrag.api.errors import RunStopped
from convrag.testing import RecordedLLM, RewriterContract
from convrag_fusion.rewriters import EnsembleRewriter
from convrag_rewriters.resolve import ResolveRewriter

Said = Sequence[tuple[str, str]]

TOWER = [("How high is the Eiffel Tower?", "It is 330 metres high.")]
LISA = [
    ("Who painted the Mona Lisa?", "Leonardo da Vinci painted it around 1503."),
    ("Is it large?", "No."),
]


def ask(said: Said, text: str, **changes: Any) -> Question:
    history = tuple(Turn(f"c<::>{number}", *each) for number, each in enumerate(said, 1))
    return Question(
        text, "c", f"c<::>{len(said) + 1}", number=len(said) + 1, history=history, **changes
    )


def reply(*references: tuple[object, object, object]) -> str:
    rows = [{"words": words, "stands_for": name, "turn": turn} for words, name, turn in references]
    return json.dumps({"references": rows})


def resolve(
    said: Said, text: str, *references: tuple[object, object, object], then: Rewriter | None = None
) -> Rewrite:
    """The rewrite where a model links these."""
    llm = RecordedLLM(replies={"": reply(*references)})
    return ResolveRewriter(llm=llm, then=then).rewrite(ask(said, text))


class Recording(Rewriter):
    """Keeps the question that it is given."""

    def rewrite(self, question: Question) -> Rewrite:
        self.question = question
        return Rewrite(
            (Query(question.text), Query("more", 0.5)), {"method": "recording"}, "a reason"
        )


class Fails(RecordedLLM):
    def __init__(self, error: Exception) -> None:
        super().__init__(replies={})
        self.error = error

    def complete(self, prompt: Prompt) -> Completion:
        raise self.error


class TestContract(RewriterContract):
    def make(self) -> ResolveRewriter:
        return ResolveRewriter(llm=RecordedLLM(replies={"": reply()}))


@pytest.mark.parametrize(
    ("said", "asked", "references", "expected"),
    [
        (TOWER, "How old is it?", [("it", "the Eiffel Tower", 1)], "How old is the Eiffel Tower?"),
        (TOWER, "It is how old?", [("it", "the Eiffel Tower", 1)], "The Eiffel Tower is how old?"),
        (
            TOWER,
            "What are its titles?",
            [("its", "the Eiffel Tower's", 1)],
            "What are the Eiffel Tower's titles?",
        ),
        (LISA, "When did he paint it?", [("it", "the Mona Lisa", 1), ("he", "Leonardo", 1)], None),
        (
            LISA,
            "Is it it?",
            [("it", "the one", 1), ("it", "the other", 2)],
            "Is the one the other?",
        ),
        (
            TOWER,
            "And in winter?",
            [("And in winter", "How high is it in winter", 1)],
            "How high is it in winter?",
        ),
        (
            [("Is C++ hard?", "")],
            "Why is C++ old?",
            [("C++", "the language C++", 1)],
            "Why is the language C++ old?",
        ),
        (TOWER, "What is a kettle?", [], "What is a kettle?"),
    ],
)
def test_references_are_written_out(
    said: Said, asked: str, references: Any, expected: str | None
) -> None:
    rewrite = resolve(said, asked, *references)
    assert rewrite.text == (expected or "When did Leonardo paint the Mona Lisa?")
    assert len(rewrite.trace["links"]) == len(references)
    assert not rewrite.fallback


def test_the_trace_says_what_was_linked_to_which_turn() -> None:
    trace = resolve(LISA, "How large is IT?", ("it", "the Mona Lisa", 2)).trace
    assert trace["links"] == [
        {
            "kind": "reference",
            "phrase": "IT",
            "antecedent": "the Mona Lisa",
            "turn": "c<::>2",
            "rule": "language model",
        }
    ]
    assert (trace["resolved"], trace["selected"]) == ("How large is the Mona Lisa?", ["c<::>2"])


@pytest.mark.parametrize(
    ("references", "said"),
    [
        ([("it", "the tower", 2)], "there are 1 turns"),
        ([("it", "the tower", 0)], "turn 0"),
        ([("she", "the tower", 1)], "'she', which is not in the question"),
        ([("how", "the tower", 1), ("how old", "the tower", 1)], "linked already"),
        ([("old is i", "the tower", 1)], "not in the question"),
        ([(" ", "the tower", 1)], "not in the question"),
        ([("it", " ", 1)], "links 'it'"),
        ([("it", "", 1)], "stands_for"),
        ([("it", "the tower", "the first")], "turn"),
    ],
)
def test_a_reply_that_does_not_fit_leaves_the_question_and_says_so(
    references: Any, said: str
) -> None:
    rewrite = resolve(TOWER, "How old is it?", *references)
    assert rewrite.queries == (Query("How old is it?"),)
    assert said in rewrite.fallback
    assert rewrite.trace["links"] == []


def test_a_model_that_fails_leaves_the_question() -> None:
    rewrite = ResolveRewriter(llm=Fails(LLMError("no reply", provider="test"))).rewrite(
        ask(TOWER, "How old is it?")
    )
    assert rewrite.queries == (Query("How old is it?"),)
    assert "no reply" in rewrite.fallback
    with pytest.raises(RunStopped):
        ResolveRewriter(llm=Fails(RunStopped("too dear"))).rewrite(ask(TOWER, "How old is it?"))


def test_the_first_question_asks_nothing() -> None:
    rewriter = ResolveRewriter(llm=Fails(AssertionError()))
    assert rewriter.rewrite(ask([], "How high is it?")).queries == (Query("How high is it?"),)


def test_the_prompt_numbers_the_turns() -> None:
    llm = RecordedLLM(replies={"": reply()})
    ResolveRewriter(llm=llm).rewrite(ask(LISA, "Where is it?", profile=("I live in Oslo.",)))
    system, user = (message.content for message in llm.prompts[0].messages)
    assert "I live in Oslo." in system
    assert "Turn 2\nUser: Is it large?\nAssistant: No." in user
    assert user.endswith("The question: Where is it?")


def test_another_rewriter_goes_on_from_the_resolved_question() -> None:
    then = Recording()
    rewrite = resolve(LISA, "Where is it?", ("it", "the Mona Lisa", 1), then=then)
    assert then.question == replace(ask(LISA, "Where is it?"), text="Where is the Mona Lisa?")
    assert [query.text for query in rewrite.queries] == ["Where is the Mona Lisa?", "more"]
    assert rewrite.trace["method"] == "recording"
    assert rewrite.trace["links"][0]["antecedent"] == "the Mona Lisa"
    assert rewrite.fallback == "a reason"
    failed = resolve(LISA, "Where is it?", ("it", "the Mona Lisa", 7), then=then)
    assert failed.fallback.endswith("turns; a reason")


def test_it_is_a_member_of_an_ensemble() -> None:
    llm = RecordedLLM(replies={"": reply(("it", "the Mona Lisa", 1))})
    both = EnsembleRewriter(
        first=ResolveRewriter(llm=llm),
        second=ResolveRewriter(llm=llm, then=Recording()),
        third=None,
    )
    traces = both.rewrite(ask(LISA, "Where is it?")).trace["of"]
    assert traces["first"]["queries"] == ["Where is the Mona Lisa?"]
    assert {"links", "resolved", "selected"} <= set(traces["second"]["trace"])
