import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import toys
from convrag import Answer, Completion, Store
from convrag.api.errors import RunStopped
from convrag.concurrency.cancellation import Cancellation, Cancelled, sleep
from convrag.concurrency.streaming import Stream, current_listener
from convrag.config.settings import Settings
from convrag.store.remember import remember
from convrag.testing import make_prompt
from toys import pipeline


class PiecewiseLLM(toys.EchoLLM):
    """Hands its reply out word by word."""

    streams = True

    def complete(self, prompt: Any) -> Completion:
        for piece in ("one ", "two ", "three"):
            if listener := current_listener():
                listener(piece)
            time.sleep(0.01)
        return Completion("one two three")


class Telling(toys.QuotingGenerator):
    """Answers with what an LLM says."""

    streams = True

    def __init__(self, llm: Any) -> None:
        self.llm = llm

    def generate(self, question: Any, evidence: Any) -> Answer:
        return Answer(self.llm.complete(make_prompt()).text)


def known(llm: Any, store: Store) -> Any:
    llm.fingerprint = "f"
    remember(llm, store)
    return llm


def test_pieces_come_before_the_record(tmp_path: Any) -> None:
    store = Store(tmp_path)
    chat = pipeline(generator=Telling(known(PiecewiseLLM(), store)))
    stream = chat.stream("c", "what?")
    pieces = iter(stream)
    assert next(pieces) == "one "
    assert list(pieces) == ["two ", "three"]
    assert stream.record.answer.text == "one two three"
    assert [completion.text for _, completion in stream.record.replies] == ["one two three"]


def test_a_remembered_reply_and_one_without_pieces_are_heard_whole(tmp_path: Any) -> None:
    store = Store(tmp_path)
    chat = pipeline(generator=Telling(known(PiecewiseLLM(), store)))
    chat.turn("c", "what?")
    assert list(chat.stream("d", "what?")) == ["one two three"]
    plain = pipeline(generator=Telling(known(toys.EchoLLM(mark="x"), Store(tmp_path / "other"))))
    assert list(plain.stream("c", "what?")) == [plain.turn("d", "what?").answer.text]


def test_a_generator_of_several_calls_is_heard_at_its_end() -> None:
    assert list(pipeline().stream("c", "what?")) == ["0 p0 p1"]


def test_a_failing_turn_streams_nothing_and_has_its_record() -> None:
    stream = pipeline().stream("c", "boom?")
    assert list(stream) == []
    assert stream.record.error


def test_what_the_turn_raises_reaches_the_reader() -> None:
    def stop(_: Any) -> Any:
        raise RunStopped("no money left")

    with pytest.raises(RunStopped, match="no money left"):
        list(Stream(stop))


def test_a_run_that_is_stopped_keeps_what_was_done() -> None:
    from convrag.run.workers import ConversationWorkers

    class Poor(toys.QuotingGenerator):
        """Stops the run at the third turn."""

        def generate(self, question: Any, evidence: Any) -> Answer:
            if question.number == 3:
                raise RunStopped("the limit of 1.00 USD is reached")
            return super().generate(question, evidence)

    talks = [toys.talk(f"c{n}", *"abcde") for n in range(5)]
    conversing = ConversationWorkers(pipeline(generator=Poor()), talks, Settings(workers=1))
    records = list(conversing.records())
    assert [record.turn_id for record in records] == ["c0<::>1", "c0<::>2"]
    assert conversing.stopped == "the limit of 1.00 USD is reached"


@pytest.mark.parametrize("how", ["a thread of its own", "a given thread"])
def test_a_stream_ends_where_the_calls_of_its_thread_are_cancelled(how: str) -> None:
    """It had a cancellation of its own in place of the one that applied where it was begun."""
    cancellation = Cancellation()

    def work(tell: Any) -> str:
        for _ in range(1000):
            tell("piece")
            sleep(0.01)
        return "all"

    stream: Stream[str, str] = Stream(work)
    with cancellation.apply(), ThreadPoolExecutor(1) as pool:
        stream.start(pool.submit if how == "a given thread" else None)
        cancellation.cancel()
        with pytest.raises(Cancelled):
            _ = stream.record
