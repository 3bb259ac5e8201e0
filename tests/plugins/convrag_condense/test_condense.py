import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag import (
    LLM,
    Completion,
    Hit,
    LLMError,
    Passage,
    Prompt,
    Query,
    Question,
    Retriever,
    Store,
    Turn,
)
from convrag.sdk.text.sentences import truncate_text
from convrag.store.remember import remember
from convrag.testing import RewriterContract
from convrag_condense.gate import (
    compute_known_share,
    find_part_stems,
    find_reasons,
    list_said,
    normalise_question,
)
from convrag_condense.rewriter import CondenseRewriter, select_newest_exchanges
from toys import ListRetriever, Says, pipeline


def history(*exchanges: str) -> tuple[Turn, ...]:
    """Turns from "question | answer"."""
    split = (exchange.split(" | ") for exchange in exchanges)
    return tuple(
        Turn(f"c<::>{n}", question, answer) for n, (question, answer) in enumerate(split, start=1)
    )


TALK = history(
    "What is multi-task learning? | Multi-task learning (MTL) in NLP trains one model on several tasks."
)


def asked(text: str, past: tuple[Turn, ...] = TALK) -> Question:
    return Question(text, "c", f"c<::>{len(past) + 1}", number=len(past) + 1, history=past)


def condenser(llm: LLM | None = None, **options: Any) -> CondenseRewriter:
    stages = {"llm": llm or Says("Is copper better than steel?"), "retriever": ListRetriever()}
    return CondenseRewriter(**{**stages, **options})


class TestContract(RewriterContract):
    def make(self) -> CondenseRewriter:
        return condenser()


# The gate
# --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "code"),
    [
        # the seed's examples and manual test cases, and what its code missed
        ("Is there an overlap?", "comparison"),
        ("Is there overlap with transfer learning?", "comparison"),
        ("How does it compare to GPT?", "pronoun"),
        ("Can you elaborate on the data efficiency issue?", "ellipsis"),
        ("What about self-attention?", "ellipsis"),
        ("Why?", "short"),
        ("EXPLAIN THAT!!!", "pronoun"),
        ("and in the winter months of the year, when everything is frozen?", "ellipsis"),
        (
            "What’s the main difference in price that people in large cities have to reckon with?",
            "comparison",
        ),
    ],
)
def test_the_gate_finds_a_reason(question: str, code: str) -> None:
    assert code in find_reasons(question, 8)


@pytest.mark.parametrize(
    "question",
    [
        "How did people in Finland and the Netherlands understand the brand of Christianity preached around 1600?",
        "Which committee in the city of Hamburg decides where new underground lines will run after 2030?",
        "What was said in the report of the United Nations on climate policy in 2019?",
        "When did the white hat hackers of Amsterdam publish how bluetooth locks can be opened?",
    ],
)
def test_the_gate_looks_at_whole_words(question: str) -> None:
    assert find_reasons(question, 8) == []


def test_short_is_a_matter_of_words() -> None:
    assert find_reasons("Who wrote the opera Carmen in Paris?", 8) == ["short"]
    assert find_reasons("Who wrote the opera Carmen in Paris?", 7) == []
    assert find_reasons("?!", 8) == ["short"]


@pytest.mark.parametrize(
    ("gate", "question", "condensed", "codes"),
    [
        ("heuristic", "Why?", True, ["short"]),
        ("heuristic", "Who was the first woman that flew to space alone?", True, ["pronoun"]),
        (
            "heuristic",
            "Who was the first woman on board of a space station?",
            False,
            ["standalone"],
        ),
        ("always", "Who was the first woman on board of a space station?", True, ["always"]),
        ("never", "Why?", False, ["never"]),
    ],
)
def test_each_decision_is_in_the_trace(
    gate: Any, question: str, condensed: bool, codes: list[str]
) -> None:
    llm = Says("multi-task learning?")
    rewrite = condenser(llm, gate=gate).rewrite(asked(question))
    assert (rewrite.trace["gate"], rewrite.trace["condense"], rewrite.trace["reasons"]) == (
        gate,
        condensed,
        codes,
    )
    assert len(llm.prompts) == condensed
    assert rewrite.text == ("multi-task learning?" if condensed else question)


@pytest.mark.parametrize("gate", ["heuristic", "always"])
def test_a_first_turn_is_searched_for_as_it_is(gate: Any) -> None:
    llm = Says("Is copper better than steel?")
    rewrite = condenser(llm, gate=gate).rewrite(asked("How does it work?", ()))
    assert (rewrite.text, rewrite.trace["reasons"], llm.prompts) == (
        "How does it work?",
        ["first_turn"],
        [],
    )


# The call
# --------------------------------------------------------------------------------------------------------


def test_the_call_has_the_seeds_sampling_and_the_named_inputs() -> None:
    llm = Says("What overlaps with multi-task learning?")
    rewrite = condenser(llm).rewrite(asked("Is there an overlap?"))
    (prompt,) = llm.prompts
    assert (prompt.task, prompt.sampling) == (
        "rewrite",
        {"temperature": 0.2, "max_tokens": 150, "top_p": 0.9},
    )
    assert prompt.inputs == {
        "question": "Is there an overlap?",
        "history": [{"user": TALK[0].question, "assistant": TALK[0].answer}],
    }
    (message,) = prompt.messages
    assert message.role == "user"
    assert message.content.index(TALK[0].answer) < message.content.index(
        "Follow-up: Is there an overlap?"
    )
    assert message.content.endswith("Output ONLY the standalone question, on one line.")
    assert rewrite.trace["prompt"] == condenser().prompt_templates[0].hash


def test_a_failed_exchange_is_shown_without_an_answer() -> None:
    llm = Says("multi-task learning?")
    condenser(llm).rewrite(asked("Why?", (Turn("c<::>1", "multi-task learning?"),)))
    assert "User: multi-task learning?\n\nFollow-up: Why?" in llm.prompts[0].messages[0].content


def test_the_history_is_filled_newest_first() -> None:
    talk = history("one a | 1 2 3", "two b | 4 5 6", "three c | 7 8 9")
    count = lambda text: len(text.split())  # noqa: E731
    sizes = {
        budget: select_newest_exchanges(talk, budget, count)
        for budget in (0, 2, 4, 5, 7, 8, 9, 10, 100)
    }
    assert [exchange["user"] for exchange in sizes[100]] == ["one a", "two b", "three c"]
    assert sizes[0] == sizes[2] == [{"user": "three c", "assistant": ""}]
    assert sizes[4] == [{"user": "three c", "assistant": "7 8"}]
    assert sizes[5] == sizes[7] == [{"user": "three c", "assistant": "7 8 9"}]
    assert sizes[9] == [
        {"user": "two b", "assistant": "4 5"},
        {"user": "three c", "assistant": "7 8 9"},
    ]


@given(st.text(alphabet="ab \n", max_size=40), st.integers(0, 20))
def test_a_truncated_text_fits(text: str, budget: int) -> None:
    found = truncate_text(text, budget, lambda part: len(part.split()))
    assert len(found.split()) == min(budget, len(text.split()))
    assert text.split()[: len(found.split())] == found.split()


@pytest.mark.parametrize(
    "reply", ["", "Standalone question:", "x" * 500, LLMError("the server is down")]
)
def test_a_failure_gives_the_question_back(reply: str | Exception) -> None:
    rewrite = condenser(Says(reply)).rewrite(asked("Why?"))
    assert rewrite.text == "Why?"
    assert rewrite.fallback
    assert rewrite.trace["reasons"] == ["short"]


def test_a_rewrite_that_says_the_same_leaves_the_users_words() -> None:
    rewrite = condenser(Says("what is NLP")).rewrite(asked("What is NLP?"))
    assert (rewrite.text, rewrite.fallback) == ("What is NLP?", "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What about C++?", "what about c++ ?", True),
        ("What about C++?", "What about C#?", False),
        ("3.5 or 35?", "35 or 35", False),
        ("Is it well-known?", "is it well-known", True),
        ("Is it - perhaps - known?", "is it perhaps known", True),
        ("お茶は？", "お茶は", True),
        ("?!", "?", False),
    ],
)
def test_what_counts_as_the_same_question(one: str, other: str, same: bool) -> None:
    assert (normalise_question(one) == normalise_question(other)) == same


@given(st.text(max_size=60))
def test_normalising_is_stable(text: str) -> None:
    assert normalise_question(normalise_question(text)) == normalise_question(text)


# The guard
# -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "rewrite"),
    [
        ("What about the cost?", "What is the cost of multi-task learning?"),
        ("Why?", "Why is MTL used to train models?"),
        ("Any examples?", "What are examples of tasks in NLP?"),
        ("Is there an overlap?", "Do the tasks of multi-task learning overlap?"),
    ],
)
def test_the_guard_lets_right_rewrites_pass(question: str, rewrite: str) -> None:
    done = condenser(Says(rewrite)).rewrite(asked(question))
    assert (done.text, done.fallback) == (rewrite, "")
    assert done.trace["known_share"] >= 0.5


@pytest.mark.parametrize(
    "reply", ["I'm ready to begin.", "Which volcano erupted in Iceland during April 2010?"]
)
def test_the_guard_rejects_inventions(reply: str) -> None:
    done = condenser(Says(reply)).rewrite(asked("Why?"))
    assert done.text == "Why?"
    assert "guard" in done.fallback
    assert done.trace["rejected"] == reply
    assert condenser(Says(reply), guard=0).rewrite(asked("Why?")).text == reply


def test_the_guard_knows_inflections_and_other_scripts() -> None:
    def share(rewrite: str, question: str, *exchanges: str) -> float:
        return compute_known_share(rewrite, [*list_said(history(*exchanges)), question])

    assert share("Are the kettle's whistles louder?", "loud?", "Kettles | A whistling kettle") < 1
    assert share("Do kettles whistle?", "why", "the kettle's whistling | ...") == 1
    assert share("緑茶は何度ですか", "何度ですか", "緑茶は | 八十度") == 0.8  # は何
    assert share("", "") == 1
    assert find_part_stems("What's the state-of-the-art?") == {"state", "art"}


# Searching ahead
# ---------------------------------------------------------------------------------------------------


class Listens(Retriever):
    """Notes what it is asked for, and fails on request."""

    def __init__(self, *, broken: bool = False) -> None:
        self.asked: list[tuple[tuple[Query, ...], int]] = []
        self.done = threading.Event()
        self.broken = broken

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        self.asked.append((tuple(queries), k))
        self.done.set()
        if self.broken:
            raise OSError("the index is gone")
        return [Hit(Passage("p", "text"), 1.0)]


class WaitsForSearch(Says):
    """Replies as soon as the retriever was asked."""

    def __init__(self, retriever: Listens, *replies: str) -> None:
        super().__init__(*replies)
        self.retriever = retriever

    def complete(self, prompt: Prompt) -> Completion:
        assert self.retriever.done.wait(60), "no search ran while the question was condensed"
        return super().complete(prompt)


def test_the_question_is_searched_for_while_it_is_condensed() -> None:
    retriever = Listens()
    llm = WaitsForSearch(retriever, "multi-task learning?")
    question = replace(asked("Why?"), top_k=7)
    rewrite = condenser(llm, retriever=retriever, speculate=True).rewrite(question)
    assert retriever.asked == [((Query("Why?", turn_id="c<::>2"),), 7)]
    assert rewrite.text == "multi-task learning?"
    assert rewrite.trace["searched_ahead"] is True


@pytest.mark.parametrize(
    ("options", "question"),
    [
        ({"speculate": False}, replace(asked("Why?"), top_k=7)),
        ({"speculate": True, "gate": "never"}, replace(asked("Why?"), top_k=7)),
        ({"speculate": True}, replace(asked("Why?", ()), top_k=7)),
        ({"speculate": True}, asked("Why?")),
    ],
    ids=["by default", "nothing is condensed", "first question", "no search follows"],
)
def test_no_search_ahead(options: dict[str, Any], question: Question) -> None:
    retriever = Listens()
    rewrite = condenser(retriever=retriever, **options).rewrite(question)
    assert not retriever.asked
    assert "searched_ahead" not in rewrite.trace


def test_a_search_ahead_that_fails_harms_nothing() -> None:
    retriever = Listens(broken=True)
    llm = WaitsForSearch(retriever, "multi-task learning?")
    question = replace(asked("Why?"), top_k=7)
    rewrite = condenser(llm, retriever=retriever, speculate=True).rewrite(question)
    assert (rewrite.text, rewrite.fallback) == ("multi-task learning?", "")


@pytest.mark.parametrize(
    ("reply", "searches"),
    [
        ("why is it so", 1),  # the same question
        ("Which volcano erupted in Iceland during April 2010?", 1),  # the guard rejects it
        (LLMError("the server is down"), 1),
        ("Why is multi-task learning so?", 2),
    ],
)
def test_the_turn_takes_the_search_ahead_where_the_question_stands_alone(
    reply: str | Exception, searches: int, tmp_path: Path
) -> None:
    """The store hands it over: it is not made again."""
    retriever = Listens()
    retriever.fingerprint = "listens"
    remember(retriever, Store(tmp_path / "store"))
    chat = pipeline(
        rewriter=condenser(Says(reply), retriever=retriever, gate="always", speculate=True),
        retriever=retriever,
    )
    chat.turn("c", "What is multi-task learning?")
    before = len(retriever.asked)
    record = chat.turn("c", "Why is it so?", top_k=4)
    for thread in threading.enumerate():
        if thread.name == "search_ahead":
            thread.join(60)
    assert [hit.passage.id for hit in record.hits] == ["p"]
    assert record.trace["rewriter"]["searched_ahead"] is True
    texts = {queries[0].text for queries, k in retriever.asked[before:] if k == 4}
    assert (len(texts), len(retriever.asked) - before) == (searches, searches)
    assert "Why is it so?" in texts


def test_the_run_has_its_retriever_only_to_search_ahead() -> None:
    used = CondenseRewriter.uses_stage
    assert used("retriever", {"speculate": True})
    assert not used("retriever", {"speculate": False})
    assert used("llm", {"speculate": False})


# Parameters, and the record
# ---------------------------------------------------------------------------------------


def test_the_log_tells_what_happened(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "convrag_condense")
    standalone = "Is there an overlap between multi-task learning and NLP?"
    condenser(Says(standalone)).rewrite(asked("Is there an overlap?"))
    assert [record.getMessage() for record in caplog.records] == [
        "turn c<::>2: detected follow-up question (comparison, short), condensing",
        f"turn c<::>2: query condensation\n  Original: Is there an overlap?\n  Standalone: {standalone}",
    ]
