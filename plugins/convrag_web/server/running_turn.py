"""A turn in a thread of its own, and its events, which the event loop takes.

    async for events in turn.batches():
        ...

A turn waits for servers most of its time, and its stages block: so each has a thread, and the loop has all else.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import groupby
from math import floor
from typing import NamedTuple

from convrag import OtherConfiguration, RunStopped, TurnRecord
from convrag.sdk.cancelling import Cancellation, Cancelled, ComputeSlots
from convrag_web.server.errors import RequestError
from convrag_web.server.server_metrics import Outcome
from convrag_web.server.turn_threads import TurnThreads

SILENCE_SECONDS = 15.0
"""After so many seconds without an event the batch is empty: a proxy may close a silent connection."""

TOGETHER_SECONDS = 0.025
"""Turns whose events may be sent within so many seconds are woken together, which costs the loop a fraction."""

_slots = ComputeSlots(2)  # one reads or writes files, perhaps, and lets the other compute


class StageFinished(NamedTuple):
    """A stage has finished; the record holds the results so far."""

    stage: str
    record: TurnRecord


Event = str | StageFinished | TurnRecord
"""A piece of the answer, the end of a stage, or the record at the end of the turn."""

Emit = Callable[[str | StageFinished], None]
Work = Callable[[Emit], TurnRecord]
"""Takes a turn and returns its record. It calls its argument with each event before; that may raise Cancelled."""


class RunningTurn:
    """A turn in a thread of its own.

    Args:
        threads: one of them takes the turn.
        work: takes the turn.
        seconds: that the turn may take.
        on_end: is called in the event loop when the thread has ended, with the outcome and the record, if there is one.
        pace: tells how many seconds to wait from one batch of pieces and ends of stages to the next.
    """

    def __init__(
        self,
        threads: TurnThreads,
        work: Work,
        seconds: float,
        on_end: Callable[[Outcome, TurnRecord | None], None],
        pace: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._work = work
        self._on_end = on_end
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._events: deque[str | StageFinished] = deque()
        self._ending: TurnRecord | BaseException | None = None
        self._has_events = asyncio.Event()
        self._told = False  # whether the loop is about to look for events
        self._held = False  # whether events wait until they may be sent; then the loop looks by itself
        self._deadline = time.monotonic() + seconds
        self._timed_out = False
        self._cancellation = Cancellation()
        self._hold()
        threads.run(self._run)

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Yield the events in order, those that may be sent together in one list; the record is the last.

        Pieces that follow each other are joined, and of stages that have ended the last is told. A list is empty where
        nothing has happened for `SILENCE_SECONDS`. Raises what the turn raised; RequestError if it was too slow.
        """
        while True:
            if not await self._wait():
                yield []
                continue
            events: list[Event] = self._take_events()
            ending = self._ending
            if ending is None:
                self._hold()
            elif isinstance(ending, TurnRecord):
                events.append(ending)
            if events:
                yield events
            if isinstance(ending, BaseException):
                raise ending
            if ending is not None:
                return

    async def finish(self) -> tuple[str, TurnRecord]:
        """Wait for the end of the turn; return all pieces of the answer, and the record. Raises as `batches` does."""
        pieces = []
        async for events in self.batches():
            for event in events:
                if isinstance(event, str):
                    pieces.append(event)
                elif isinstance(event, TurnRecord):
                    return "".join(pieces), event
        raise AssertionError("a turn ends with its record or with an error")

    def cancel(self) -> None:
        """End the turn: no new calls, and calls in flight are dropped. Without effect if it has ended."""
        self._cancellation.cancel()

    def _take_events(self) -> list[Event]:
        taken = [self._events.popleft() for _ in range(len(self._events))]
        joined: list[Event] = []
        for are_pieces, group in groupby(taken, lambda event: isinstance(event, str)):
            together = list(group)
            joined.append("".join(map(str, together)) if are_pieces else together[-1])
        return joined

    def _hold(self) -> None:
        """Let events wait for as long as the pace says. The end of the turn waits for none."""
        if pause := self._pace():
            self._held = True
            step = min(TOGETHER_SECONDS, pause / 4)
            self._loop.call_at(floor((self._loop.time() + pause) / step) * step, self._let_go)

    def _let_go(self) -> None:
        self._held = False  # before the look at the events: whoever adds one later sees it, and tells the loop
        if self._events:
            self._has_events.set()

    async def _wait(self) -> bool:
        """Wait for an event, and return whether there is one. Raises RequestError where the turn took too long."""
        end = min(self._deadline, time.monotonic() + SILENCE_SECONDS)
        while not self._is_due():
            if (left := end - time.monotonic()) <= 0:
                break
            self._has_events.clear()
            alarm = self._loop.call_later(left + 0.001, self._has_events.set)  # cheaper than asyncio.timeout
            try:
                await self._has_events.wait()
            finally:
                alarm.cancel()
        else:
            return True
        if end < self._deadline:
            return False
        self._timed_out = True
        self.cancel()
        raise RequestError(504, "the turn took too long (task.timeout)", code="turn_timeout")

    def _is_due(self) -> bool:
        return self._ending is not None or bool(self._events and not self._held)

    def _run(self) -> None:
        outcome: Outcome = "error"
        record: TurnRecord | None = None
        ending: TurnRecord | BaseException
        try:
            with self._cancellation.apply(), _slots.hold():
                ending = record = self._work(self._emit)
            outcome = "failed" if record.error else "answered"
        except Cancelled:
            outcome = "timeout" if self._timed_out else "cancelled"
            ending = RequestError(503, "the turn was cancelled: the server ends", code="cancelled")
        except BaseException as error:
            if isinstance(error, RequestError | OtherConfiguration):
                outcome = "refused"
            else:
                outcome = "stopped" if isinstance(error, RunStopped) else "error"
            ending = error
        self._call_in_loop(lambda: self._end(ending, outcome, record))

    def _end(self, ending: TurnRecord | BaseException, outcome: Outcome, record: TurnRecord | None) -> None:
        self._ending = ending
        self._has_events.set()
        self._on_end(outcome, record)

    def _emit(self, event: str | StageFinished) -> None:
        self._cancellation.check()
        self._events.append(event)
        if not self._held and not self._told:
            self._told = True
            self._call_in_loop(self._notice)

    def _notice(self) -> None:
        self._told = False
        self._has_events.set()

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has ended
            self._loop.call_soon_threadsafe(call)
