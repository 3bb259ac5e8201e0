"""The events of a turn: none is lost, and pieces that come faster than they may be sent are joined."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from convrag import Answer, Evidence, TurnRecord
from convrag_web.server.running_turn import Emit, Event, RunningTurn, StageFinished
from convrag_web.server.turn_threads import TurnThreads

RECORD = TurnRecord("c", "t", "default", 1, "q", (), (), Evidence(), Answer("a"))


def take_turn(
    pause: float, pieces: int = 50, between: float = 0.002, stages: Sequence[str] = ("context",)
) -> list[tuple[float, Event]]:
    """The events of a turn, with the times at which they came."""

    def work(emit: Emit) -> TurnRecord:
        for stage in stages:
            emit(StageFinished(stage, RECORD))
        for number in range(pieces):
            time.sleep(between)
            emit(f"{number} ")
        return RECORD

    async def read() -> list[tuple[float, Event]]:
        turn = RunningTurn(TurnThreads(), work, 60, lambda outcome, record: None, lambda: pause)
        return [(time.monotonic(), event) async for events in turn.batches() for event in events]

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


def test_many_turns_lose_nothing() -> None:
    done: list[str] = []

    def run() -> None:
        events = [event for _, event in take_turn(0.001, between=0.0005)]
        done.append("".join(event for event in events if isinstance(event, str)))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == ["".join(f"{number} " for number in range(50))] * 8
