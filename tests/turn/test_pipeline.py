import logging
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag import (
    Answer,
    Hit,
    MemoryView,
    Message,
    Passage,
    Pipeline,
    Prompt,
    Question,
    Rewrite,
    Selection,
    Store,
)
from convrag.api.session import Session
from convrag.api.stages import Memory, Selector
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.config.settings import Settings
from convrag.store.remember import remember
from convrag.turn.turn import rank_hits, sort_hits
from toys import pipeline


def test_a_turn_goes_through_all_stages() -> None:
    record = pipeline().turn("c", "what is it?")
    assert record.turn_id == "c<::>1"
    assert record.original_query == "what is it?"
    assert record.rewritten_query == "WHAT IS IT?"
    assert record.queries[0].turn_id == "c<::>1"
    assert [hit.passage.id for hit in record.hits] == ["p0", "p1", "p2"]
    assert [item.passage.id for item in record.evidence.items] == ["p0", "p1"]
    assert (record.answer.text, record.answer.citations) == ("0 p0 p1", ("p0",))
    assert list(record.timings) == ["rewriter", "retriever", "reranker", "context", "generator"]
    assert record.trace["rewriter"]["seen"] == 1
    assert not record.error
    assert not record.fallbacks


def test_the_answer_joins_the_history() -> None:
    chat = pipeline()
    chat.turn("c", "one?")
    record = chat.turn("c", "two?")
    assert record.number == 2
    assert record.rewritten_query == "TWO? 0 p0 p1"
    assert record.trace["rewriter"]["seen"] == 2
    assert chat.turn("other", "one?").number == 1
    chat.reset("c")
    assert chat.turn("c", "again?").number == 1


def test_history_none_hides_it() -> None:
    chat = pipeline(settings=Settings(history="none"))
    chat.turn("c", "one?")
    record = chat.turn("c", "two?")
    assert record.rewritten_query == "TWO?"
    assert record.turn_id == "c<::>2"


def test_a_rewriter_that_fails_costs_only_the_rewrite(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        record = pipeline(rewriter=toys.ShoutingRewriter(llm=toys.EchoLLM(), fail_on="it")).turn(
            "c", "what is it?"
        )
    assert record.rewritten_query == "what is it?"
    (reason,) = record.fallbacks.values()
    assert re.fullmatch(
        r"RuntimeError: this rewriter cannot \(toys.ShoutingRewriter: .*toys.py, line \d+\)", reason
    )
    assert record.answer.text
    assert not record.error


class LastTurn(Memory):
    """Sees the last turn, and cannot see past a turn that says so."""

    def view(self, question: Question) -> MemoryView:
        if "forget" in question.text:
            raise RuntimeError("nothing comes to mind")
        return MemoryView(
            question.history[-1:], {"left out": len(question.history[:-1])}, fallback=""
        )


class Every(Selector):
    """Takes the passages of even ranks."""

    def select(self, question: Question, hits: Any, n: int) -> Selection:
        return Selection(tuple(hits[1::2]), {"wanted": n, "of": question.standalone})


def test_later_stages_see_what_the_memory_lets_them_see() -> None:
    chat = pipeline(memory=LastTurn())
    for text in ("one?", "two?", "three?"):
        record = chat.turn("c", text)
    assert record.rewritten_query == "THREE? 1 p0 p1"
    assert record.trace["memory"] == {"left out": 1}
    assert list(record.timings)[:2] == ["memory", "rewriter"]
    assert record.number == 3


def test_the_conversation_keeps_what_the_memory_leaves_out() -> None:
    chat = pipeline(memory=LastTurn())
    for text in ("one?", "two?", "three?"):
        chat.turn("c", text)
    kept = chat.conversations.get("c")
    assert kept is not None
    assert [turn.question for turn in kept.history] == ["one?", "two?", "three?"]
    assert chat.rewrite("c", "four?").text == "FOUR? 1 p0 p1"


def test_a_memory_that_fails_costs_only_the_choice(caplog: pytest.LogCaptureFixture) -> None:
    chat = pipeline(memory=LastTurn())
    for text in ("one?", "two?", "forget it?"):
        record = chat.turn("c", text)
    assert record.trace["rewriter"]["seen"] == 3
    assert record.fallbacks["memory"].startswith("RuntimeError: nothing comes to mind")
    assert not record.error


def test_a_selector_chooses_the_evidence_and_leaves_the_ranking() -> None:
    record = pipeline(selector=Every()).turn("c", "what?")
    assert [item.passage.id for item in record.evidence.items] == ["p1"]
    assert [item.score for item in record.evidence.items] == [record.hits[1].score]
    assert [hit.passage.id for hit in record.hits] == ["p0", "p1", "p2"]
    assert record.trace["selector"] == {"wanted": 2, "of": "WHAT?"}
    assert list(record.timings)[2:5] == ["reranker", "selector", "context"]


def test_a_selector_that_invents_a_passage_costs_only_the_choice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Inventive(Every):
        def select(self, question: Question, hits: Any, n: int) -> Selection:
            return Selection((Hit(Passage("new", "text"), 1.0),))

    record = pipeline(selector=Inventive()).turn("c", "what?")
    assert [item.passage.id for item in record.evidence.items] == ["p0", "p1"]
    assert "the passage 'new', which is none of those it was given" in record.fallbacks["selector"]


@pytest.mark.parametrize("stage", ["memory", "rewriter", "reranker", "selector"])
def test_a_library_that_cannot_be_imported_is_no_reason_to_fall_back(stage: str) -> None:
    """Two threads that import scikit-learn at once, say: the turn would be measured without the
    stage.
    """

    class Importing(LastTurn, toys.ShoutingRewriter, toys.EvenRanker, Every):
        def __init__(self) -> None: ...

        def view(self, *_: Any) -> Any:
            raise ImportError(
                "cannot import name 'clone' from partially initialized module 'sklearn.base'"
            )

        rewrite = score = select = view

    record = pipeline(**{stage: Importing()}).turn("c", "what?")
    assert record.error.startswith(f"{stage}: ImportError: cannot import name 'clone'")
    assert not record.fallbacks


def test_an_empty_rewrite_is_the_question() -> None:
    class Empty(toys.ShoutingRewriter):
        def rewrite(self, question: Any) -> Rewrite:
            return Rewrite.of("  ")

    record = pipeline(rewriter=Empty(llm=toys.EchoLLM())).turn("c", "what?")
    assert record.rewritten_query == "what?"
    assert "no query" in record.fallbacks["rewriter"]


def test_a_turn_that_fails_is_a_record_and_the_next_goes_on() -> None:
    chat = pipeline()
    failed = chat.turn("c", "boom?")
    assert failed.error.startswith("retriever: OSError: the index is gone (toys.ListRetriever: ")
    assert failed.rewritten_query == "BOOM?"
    assert (failed.hits, failed.answer.text) == ((), "")
    after = chat.turn("c", "and now?")
    assert not after.error
    assert after.number == 2


def test_a_reranker_reorders_or_leaves_alone() -> None:
    hits = tuple(Hit(Passage(f"p{n}", "t"), 9.0 - n) for n in range(3))
    question = Question("q", standalone="q")
    turned = sort_hits(hits, rank_hits(toys.ReverseRanker(), question, hits))
    assert [(hit.passage.id, hit.score) for hit in turned] == [
        ("p2", 2.0),
        ("p1", 1.0),
        ("p0", 0.0),
    ]
    assert sort_hits(hits, rank_hits(toys.EvenRanker(), question, hits)) == hits
    assert sort_hits((), rank_hits(toys.ReverseRanker(), question, ())) == ()


def test_a_reranker_that_fails_leaves_the_order() -> None:
    class Broken(toys.EvenRanker):
        def score(self, query: str, texts: Any) -> Any:
            return super().score(query, texts)[:1]

    record = pipeline(reranker=Broken()).turn("c", "what?")
    assert [hit.passage.id for hit in record.hits] == ["p0", "p1", "p2"]
    assert "1 scores for 3 texts" in record.fallbacks["reranker"]


def test_later_stages_know_the_rewrite() -> None:
    class Parrot(toys.QuotingGenerator):
        def generate(self, question: Any, evidence: Any) -> Answer:
            return Answer(
                f"{question.text} {question.standalone} {[query.text for query in question.queries]}"
            )

    assert pipeline(generator=Parrot()).turn("c", "what?").answer.text == "what? WHAT? ['WHAT?']"


def test_a_question_sees_only_what_was_before_and_no_labels() -> None:
    conversation = Session("c")
    first = conversation.make_question("one?")
    conversation.add_turn(toys.talk("c", "one?").turns[0])
    second = conversation.make_question("two?")
    assert first.history == ()
    assert [turn.question for turn in second.history] == ["one?"]
    assert second.history[0].labels == {}


def test_conversations_side_by_side_keep_apart() -> None:
    chat = pipeline()

    def converse(name: str) -> list[str]:
        return [chat.turn(name, f"{name} {n}?").rewritten_query for n in range(20)]

    with ThreadPoolExecutor(8) as pool:
        talks = list(pool.map(converse, [f"c{n}" for n in range(16)]))
    for number, queries in enumerate(talks):
        assert all(query.startswith(f"C{number} {n}?") for n, query in enumerate(queries))


def test_a_wait_for_a_turn_of_the_same_conversation_can_be_cancelled() -> None:
    chat, cancellation = pipeline(), Cancellation()
    cancellation.cancel()

    def ask() -> None:
        with cancellation.apply():
            chat.turn("c", "what?")

    with (
        ThreadPoolExecutor(1) as pool,
        chat.conversations.begin("c", "default").lock,
        pytest.raises(Cancelled),
    ):
        pool.submit(ask).result(60)


def test_turns_of_one_conversation_from_many_threads_are_numbered_through() -> None:
    chat = pipeline()
    with ThreadPoolExecutor(8) as pool:
        numbers = [
            record.number for record in pool.map(lambda n: chat.turn("c", f"{n}?"), range(40))
        ]
    assert sorted(numbers) == list(range(1, 41))


def test_compose_gives_a_working_pipeline(here: Any) -> None:
    chat = Pipeline.compose("rewriter=full_history", "llm=extractive")
    first = chat.turn("mine", "How far away is the Moon?")
    assert first.hits
    assert first.answer.citations
    second = chat.turn("mine", "And how old is it?")
    assert second.rewritten_query != "And how old is it?"


def test_a_record_has_the_prompt_of_the_answer(store: Store) -> None:
    """It is the prompt of the generator's last call: not the rewriter's, nor a metric's."""

    class Asking(toys.QuotingGenerator):
        def __init__(self, llm: Any) -> None:
            self.llm = llm

        def generate(self, question: Any, evidence: Any) -> Answer:
            if "none" in question.text:
                return Answer("no call")
            for content in ("first", f"answer {question.text}"):
                text = self.llm.complete(Prompt("answer", (Message("user", content),))).text
            if "fail" in question.text:
                raise OSError("gone")
            return Answer(text)

    llm = toys.EchoLLM()
    llm.fingerprint = "f"
    remember(llm, store)
    chat = pipeline(rewriter=toys.ShoutingRewriter(llm=llm), generator=Asking(llm))
    assert chat.turn("c", "hot?").prompt == (Message("user", "answer hot?"),)
    assert chat.turn("c", "fail?").prompt == (Message("user", "answer fail?"),)
    assert chat.turn("c", "none?").prompt == ()
    assert chat.turn("c", "BOOM").prompt == ()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)
