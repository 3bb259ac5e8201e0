"""Turns in asyncio: many at once, streamed, and cancelled."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from convrag import (
    Answer,
    Completion,
    ConfigError,
    Conversations,
    Prompt,
    Question,
    Rewrite,
    Rewriter,
)
from convrag.concurrency import cancellation
from convrag.concurrency.streaming import current_listener, notify
from convrag.store.usage_meter import add_reply
from convrag.turn.turn import StageFinished, StageNotice
from toys import QuotingGenerator, pipeline


class Speaking(QuotingGenerator):
    """Says words one by one, each after a while, and counts them; `ended` is set when it stops for any reason."""

    streams = True

    def __init__(
        self,
        words: int = 5,
        seconds: float = 0.01,
        wait: Callable[[float], None] = cancellation.sleep,
    ) -> None:
        self.words, self.seconds, self.wait = words, seconds, wait
        self.said = 0
        self.ended = threading.Event()

    def generate(self, question: Any, evidence: Any) -> Answer:
        try:
            for number in range(self.words):
                self.wait(self.seconds)
                self.said += 1
                if listener := current_listener():
                    listener(f"{number} ")
            return Answer(" ".join(map(str, range(self.words))))
        finally:
            self.ended.set()


def test_pieces_and_the_record() -> None:
    async def talk() -> None:
        chat = pipeline(generator=Speaking())
        stream = chat.astream("c", "what?")
        with pytest.raises(RuntimeError, match="when all pieces have been read"):
            _ = stream.record
        assert [piece async for piece in stream] == ["0 ", "1 ", "2 ", "3 ", "4 "]
        assert stream.record.answer.text == "0 1 2 3 4"
        with pytest.raises(RuntimeError, match="iterated over once"):
            _ = [piece async for piece in stream]
        assert (await chat.aturn("c", "and?", query="edited")).rewritten_query == "edited"
        assert [turn.question for turn in chat.conversations.open("c", "default").history] == [
            "what?",
            "and?",
        ]

    asyncio.run(talk())


@pytest.mark.slow
def test_many_at_once_and_the_loop_stays_free() -> None:
    async def talk() -> int:
        chat = pipeline(generator=Speaking(5, 0.05))
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        clock = asyncio.ensure_future(tick())
        start = time.monotonic()
        records = await asyncio.gather(*(chat.aturn(f"c{number}", "what?") for number in range(64)))
        seconds = time.monotonic() - start
        clock.cancel()
        assert [record.conversation_id for record in records] == [
            f"c{number}" for number in range(64)
        ]
        assert seconds < 12  # one after the other: 16
        return ticks

    assert asyncio.run(talk()) >= 5


def test_errors_arrive() -> None:
    async def talk() -> None:
        chat = pipeline()
        with pytest.raises(ConfigError, match="the question is ''"):
            await chat.aturn("c", "")
        with pytest.raises(ConfigError, match="top_k=0"):
            async for _ in chat.astream("c", "what?", top_k=0):
                pass
        assert "the index is gone" in (await chat.aturn("c", "BOOM")).error

    asyncio.run(talk())


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("how", ["break", "cancel", "timeout", "aclose"])
def test_who_leaves_ends_the_turn_and_it_is_not_kept(how: str, kept: bool, tmp_path: Path) -> None:
    generator = Speaking(10_000, 0.01)
    chat = pipeline(
        generator=generator, conversations=Conversations(tmp_path / "c.db" if kept else None)
    )

    async def talk() -> None:
        if how in ("cancel", "timeout"):
            task = asyncio.ensure_future(chat.aturn("c", "what?"))
            while not generator.said:
                await asyncio.sleep(0.01)
            if how == "cancel":
                task.cancel()
            with pytest.raises(asyncio.CancelledError if how == "cancel" else TimeoutError):
                await asyncio.wait_for(task, 0.01)
        elif how == "break":
            async for _ in chat.astream("c", "what?"):
                break
        else:
            pieces = aiter(chat.astream("c", "what?"))
            assert await anext(pieces) == "0 "
            await pieces.aclose()  # type: ignore[attr-defined]
        await asyncio.sleep(0)  # where a loop was left, asyncio closes what it went over
        assert await asyncio.to_thread(generator.ended.wait, 60)
        assert generator.said < 10_000
        generator.words = 2
        assert (await chat.aturn("c", "again?")).number == 1, (
            "nothing of the turn that was left is kept"
        )

    asyncio.run(talk())


@pytest.mark.parametrize("how", ["break", "return", "error", "close"])
def test_who_leaves_a_plain_loop_ends_the_turn_and_it_is_not_kept(how: str) -> None:
    generator = Speaking(10_000, 0.01)
    chat = pipeline(generator=generator)

    def read_first() -> str:
        for piece in chat.stream("c", "what?"):
            if how == "error":
                raise LookupError(piece)
            return piece
        raise AssertionError("the stream has no piece")

    if how == "break":
        for _ in chat.stream("c", "what?"):
            break
    elif how == "return":
        assert read_first() == "0 "
    elif how == "error":
        with pytest.raises(LookupError):
            read_first()
    else:
        pieces = iter(chat.stream("c", "what?"))
        assert next(pieces) == "0 "
        pieces.close()  # type: ignore[attr-defined]
    assert generator.ended.wait(60)
    assert generator.said < 10_000
    generator.words = 2
    assert chat.turn("c", "again?").number == 1, "nothing of the turn that was left is kept"


def test_a_turn_whose_pieces_are_all_read_is_kept() -> None:
    chat = pipeline()
    stream = chat.stream("c", "what?")
    assert list(stream) == ["0 p0 p1"]
    assert stream.record.number == 1
    assert chat.turn("c", "again?").number == 2


def test_leaving_the_ticks_of_a_stream_cancels_it() -> None:
    """As `task=chat` reads a stream."""
    generator = Speaking(10_000, 0.01)
    chat = pipeline(generator=generator)
    for event in chat.stream("c", "what?").tick(0.01):
        if event is not None:
            break
    assert generator.ended.wait(60)
    assert generator.said < 10_000


def test_a_generator_that_never_looks_up_is_stopped_before_its_turn_is_kept() -> None:
    """Its calls cannot be ended, but its listener can, and so can the next stage."""
    generator = Speaking(500, 0.02, wait=time.sleep)
    chat = pipeline(generator=generator)

    async def talk() -> None:
        async for _ in chat.astream("c", "what?"):
            break
        assert await asyncio.to_thread(generator.ended.wait, 60)
        assert generator.said < 500
        generator.words = 0
        assert (await chat.aturn("c", "again?")).number == 1

    asyncio.run(talk())


def test_a_loop_that_ends_first_leaves_no_turn() -> None:
    generator = Speaking(1000, 0.01, wait=time.sleep)
    chat = pipeline(generator=generator)

    loop = asyncio.new_event_loop()
    pieces = aiter(chat.astream("c", "what?"))
    assert loop.run_until_complete(anext(pieces)) == "0 "
    loop.close()
    assert generator.ended.wait(60)
    assert generator.said < 1000
    session = chat.conversations.open("c", "default")
    with session.lock:
        assert session.history == []


def test_a_turn_is_watched() -> None:
    seen: list[tuple[str, str, int, str]] = []
    chat = pipeline()

    def listen(event: str | StageFinished) -> None:
        if not isinstance(event, str):
            stage, so_far = event
            seen.append((stage, so_far.rewritten_query, len(so_far.hits), so_far.answer.text))

    record = chat.turn("c", "what?", listener=listen, stages=True)
    assert seen == [
        ("rewriter", "WHAT?", 0, ""),
        ("retriever", "WHAT?", 3, ""),
        ("reranker", "WHAT?", 3, ""),
        ("context", "WHAT?", 3, ""),
        ("generator", "WHAT?", 3, record.answer.text),
    ]
    seen.clear()
    chat.turn("c", "BOOM", listener=listen, stages=True)
    assert [stage for stage, *_ in seen] == ["rewriter"]
    seen.clear()
    chat.regenerate("c", query="tea", listener=listen, stages=True)
    assert len(seen) == 5
    events = list(chat.stream("c", "what?", stages=True))
    assert len([event for event in events if isinstance(event, StageFinished)]) == 5


class Waiting(Rewriter):
    """Waits for a model that thinks."""

    def rewrite(self, question: Question) -> Rewrite:
        notify("The model thinks")
        add_reply(Prompt("rewrite", ()), Completion("tea", reasoning="Is it tea?"))
        return Rewrite.of("tea")


def test_a_watcher_hears_what_a_stage_waits_for_and_the_record_has_its_thoughts() -> None:
    heard: list[object] = []
    chat = pipeline(rewriter=Waiting())
    record = chat.turn("c", "what?", listener=heard.append, stages=True)
    assert heard[0] == StageNotice("rewriter", "The model thinks")
    assert record.trace["rewriter"]["reasoning"] == "Is it tea?"
    heard.clear()
    chat.turn("c", "what?", listener=heard.append)
    assert not any(isinstance(event, StageNotice) for event in heard)


def test_a_watcher_that_raises_ends_the_turn() -> None:
    def refuse(event: object) -> None:
        raise LookupError(event)

    chat = pipeline()
    with pytest.raises(LookupError, match="rewriter"):
        chat.turn("c", "what?", listener=refuse, stages=True)
    assert chat.turn("c", "what?").number == 1
