"""The events of a turn: none is lost, and pieces that come faster than they may be sent are joined."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from convrag import Answer, Evidence, TurnRecord
from convrag_web.server.citations import CitedReply
from convrag_web.server.completions import CompletionForm
from convrag_web.server.event_stream import start_stream
from convrag_web.server.openai_api import _format_events
from convrag_web.server.openai_requests import ChatMessage, CompletionRequest
from convrag_web.server.turn_runner import Event, RunningTurn, StageFinished, Tell, TurnThreads

RECORD = TurnRecord("c", "t", "default", 1, "q", (), (), Evidence(), Answer("a"))


def take_turn(
    pause: float, pieces: int = 50, between: float = 0.002, stages: Sequence[str] = ("context",)
) -> list[tuple[float, Event]]:
    """The events of a turn, with the times at which they came."""
    return [(moment, event) for moment, events in take_batches(pause, pieces, between, stages) for event in events]


def take_batches(
    pause: float, pieces: int, between: float = 0.002, stages: Sequence[str] = ("context",)
) -> list[tuple[float, list[Event]]]:
    """The same, as they came together."""

    def work(emit: Tell) -> TurnRecord:
        for stage in stages:
            emit(StageFinished(stage, RECORD))
        for number in range(pieces):
            time.sleep(between)
            emit(f"{number} ")
        return RECORD

    async def read() -> list[tuple[float, list[Event]]]:
        turn = RunningTurn(TurnThreads(), work, 60, lambda outcome, record: None, lambda: pause)
        return [(time.monotonic(), events) async for events in turn.batches()]

    return asyncio.run(read())


@pytest.mark.parametrize("pause", [0.0, 0.02])
def test_all_pieces_come_in_order_before_the_record(pause: float) -> None:
    events = [event for _, event in take_turn(pause)]
    assert isinstance(events[0], StageFinished)
    assert events[-1] is RECORD
    assert "".join(map(str, events[1:-1])) == "".join(f"{number} " for number in range(50))


def test_pieces_wait_for_their_pace_and_the_record_does_not() -> None:
    events = take_turn(0.02)
    times = [moment for moment, event in events if isinstance(event, str)]
    assert len(times) <= 25
    assert all(later - earlier >= 0.015 for earlier, later in list(pairwise(times))[:-1])
    events = take_turn(10.0, pieces=3)
    assert [event for _, event in events[1:]] == ["0 1 2 ", RECORD]
    assert events[-1][0] - events[0][0] < 5


def test_of_stages_that_end_before_an_event_is_due_the_last_is_told() -> None:
    events = [event for _, event in take_turn(0.05, pieces=0, stages=("rewriter", "retriever", "context"))]
    assert [event.stage for event in events if isinstance(event, StageFinished)] == ["context"]
    assert events[-1] is RECORD


def test_events_that_are_due_together_come_together() -> None:
    first, *_, last = [events for _, events in take_batches(0.05, pieces=50)]
    assert isinstance(first[0], StageFinished)
    assert len(first) == 2, "the pieces that came meanwhile need no reply of their own"
    assert last[-1] is RECORD
    [(_, all_at_once)] = take_batches(10.0, pieces=3)
    assert all_at_once[1:] == ["0 1 2 ", RECORD]


def test_what_was_said_before_a_turn_failed_is_sent() -> None:
    def work(emit: Tell) -> TurnRecord:
        emit("The Moon ")
        return replace(RECORD, error="generator: it has gone")

    async def read() -> list[bytes]:
        turn = RunningTurn(TurnThreads(), work, 60, lambda outcome, record: None, lambda: 10.0)
        form = CompletionForm("1", CompletionRequest(messages=[ChatMessage(role="user", content="q")]))
        stream = await start_stream(turn, _format_events(turn, form, CitedReply()))
        return [chunk async for chunk in stream.body_iterator]

    said, failed = asyncio.run(read())
    assert b"The Moon " in said
    assert b"it has gone" in failed
