"""The events of a turn: none is lost, and pieces that come faster than they may be sent are joined."""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from convrag import Answer, Evidence, TurnRecord
from convrag_web.server.cited_reply import CitedReply
from convrag_web.server.completions import CompletionForm
from convrag_web.server.openai_api import format_events
from convrag_web.server.openai_requests import ChatMessage, CompletionRequest
from convrag_web.server.running_turn import Event, RunningTurn, StageFinished, Tell
from convrag_web.server.sse import start_stream
from convrag_web.server.turn_threads import TurnThreads

RECORD = TurnRecord("c", "t", "default", 1, "q", (), (), Evidence(), Answer("a"))


NEVER = 3600.0
"""Seconds of a pause that only the end of the turn ends."""


def take_turn(
    pause: float,
    pieces: int,
    between: float = 0.0,
    stages: Sequence[str] = ("context",),
    waits: bool = False,
) -> list[list[Event]]:
    """The events of a turn, as they came together; one that waits says its last piece when the
    first have come.
    """
    have_come = threading.Event()

    def work(emit: Tell) -> TurnRecord:
        for stage in stages:
            emit(StageFinished(stage, RECORD))
        for number in range(pieces):
            time.sleep(between)
            emit(f"{number} ")
        if waits:
            have_come.wait(60)
            emit("last")
        return RECORD

    async def read() -> list[list[Event]]:
        turn = RunningTurn(TurnThreads(), work, 60, lambda outcome, record: None, lambda: pause)
        batches = []
        async for events in turn.batches():
            batches.append(events)
            have_come.set()
        return batches

    return asyncio.run(read())


@pytest.mark.parametrize("pause", [0.0, 0.02])
def test_all_pieces_come_in_order_before_the_record(pause: float) -> None:
    first, *pieces, record = [event for events in take_turn(pause, 50, 0.002) for event in events]
    assert isinstance(first, StageFinished)
    assert record is RECORD
    assert "".join(map(str, pieces)) == "".join(f"{number} " for number in range(50))


def test_pieces_wait_for_their_pace_and_the_record_does_not() -> None:
    assert len(take_turn(0.2, 50, 0.002)) <= 25
    assert take_turn(NEVER, 3) == [[StageFinished("context", RECORD), "0 1 2 ", RECORD]]


def test_of_stages_that_end_before_an_event_is_due_the_last_is_told() -> None:
    assert take_turn(NEVER, 0, stages=("rewriter", "context")) == [
        [StageFinished("context", RECORD), RECORD]
    ]


def test_events_that_are_due_together_come_together() -> None:
    first, last = take_turn(0.5, 3, waits=True)
    assert first == [StageFinished("context", RECORD), "0 1 2 "]
    assert last == ["last", RECORD]


def test_what_was_said_before_a_turn_failed_is_sent() -> None:
    def work(emit: Tell) -> TurnRecord:
        emit("The Moon ")
        return replace(RECORD, error="generator: it has gone")

    async def read() -> list[bytes]:
        turn = RunningTurn(TurnThreads(), work, 60, lambda outcome, record: None, lambda: 10.0)
        form = CompletionForm(
            "1", CompletionRequest(messages=[ChatMessage(role="user", content="q")])
        )
        stream = await start_stream(turn, format_events(turn, form, CitedReply()))
        return [chunk async for chunk in stream.body_iterator]

    said, failed = asyncio.run(read())
    assert b"The Moon " in said
    assert b"it has gone" in failed
