"""A turn in a thread of its own, and its events, which the event loop takes.

    async for event in turn.events():
        ...

A turn waits for servers most of its time, and its stages block: so each has a thread, and the loop has all else.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple, cast

from convrag import OtherConfiguration, RunStopped, TurnRecord
from convrag.store.cancellation import Cancellation, Cancelled
from convrag.store.compute_slots import ComputeSlots
from convrag_web.server.errors import RequestError
from convrag_web.server.server_metrics import Outcome
from convrag_web.server.turn_threads import TurnThreads

SILENCE_SECONDS = 15.0
"""After so many seconds without an event, `RunningTurn.events` yields None: a proxy may close a silent connection."""


_slots = ComputeSlots(4)  # some read or write files, and let others compute


class StageFinished(NamedTuple):
    """A stage has finished; the record holds the results so far."""

    stage: str
    record: TurnRecord


Event = str | StageFinished | TurnRecord | None
"""A piece of the answer, the end of a stage, the record at the end of the turn; None where nothing has happened."""

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
        pace: tells how many seconds to wait from one piece of the answer, or end of a stage, to the next.
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
        self._next_piece = 0.0
        self._loop = asyncio.get_running_loop()
        self._events: deque[str | StageFinished | TurnRecord | BaseException] = deque()
        self._has_events = asyncio.Event()
        self._told = False
        self._deadline = time.monotonic() + seconds
        self._timed_out = False
        self._cancellation = Cancellation()
        if pause := pace():
            self._wait_for_next_piece(pause)
        threads.run(self._run)

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events in order, the record last. Raises what the turn raised; RequestError if too slow.

        Pieces that come before the next may be sent are joined, and of stages that have ended the last is told.
        """
        while True:
            if not self._is_due() and not await self._wait():
                yield None
                continue
            event = self._events.popleft()
            if isinstance(event, str):
                pieces = [event]
                while self._events and isinstance(self._events[0], str):
                    pieces.append(cast(str, self._events.popleft()))
                event = "".join(pieces)
            while isinstance(event, StageFinished) and self._events and isinstance(self._events[0], StageFinished):
                event = self._events.popleft()
            if isinstance(event, str | StageFinished) and (pause := self._pace()):
                self._wait_for_next_piece(pause)
            if isinstance(event, BaseException):
                raise event
            yield event
            if isinstance(event, TurnRecord):
                return

    def _wait_for_next_piece(self, pause: float) -> None:
        self._next_piece = time.monotonic() + pause
        self._loop.call_later(pause, self._has_events.set)

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

    async def finish(self) -> tuple[str, TurnRecord]:
        """Wait for the end of the turn; return all pieces of the answer, and the record. Raises as `events` does."""
        pieces = []
        async for event in self.events():
            if isinstance(event, str):
                pieces.append(event)
            elif isinstance(event, TurnRecord):
                return "".join(pieces), event
        raise AssertionError("a turn ends with its record or with an error")

    def cancel(self) -> None:
        """End the turn: no new calls, and calls in flight are dropped. Without effect if it has ended."""
        self._cancellation.cancel()

    def _run(self) -> None:
        outcome: Outcome = "error"
        record = None
        try:
            with self._cancellation.apply(), _slots.hold():
                record = self._work(self._emit)
            outcome = "failed" if record.error else "answered"
            self._put(record)
        except Cancelled:
            outcome = "timeout" if self._timed_out else "cancelled"
            self._put(RequestError(503, "the turn was cancelled: the server ends", code="cancelled"))
        except BaseException as error:
            if isinstance(error, RequestError | OtherConfiguration):
                outcome = "refused"
            else:
                outcome = "stopped" if isinstance(error, RunStopped) else "error"
            self._put(error)
        finally:
            self._call_in_loop(lambda: self._on_end(outcome, record))

    def _emit(self, event: str | StageFinished) -> None:
        self._cancellation.check()
        self._put(event)

    def _put(self, event: str | StageFinished | TurnRecord | BaseException) -> None:
        self._events.append(event)
        if not self._told and self._is_due():  # else the loop is about to look, or will when the next piece is due
            self._told = True
            self._call_in_loop(self._notice)

    def _is_due(self) -> bool:
        """Whether an event may be sent now. A piece or a stage may have to wait; the end of the turn waits for none."""
        if not self._events:
            return False
        return not isinstance(self._events[-1], str | StageFinished) or time.monotonic() >= self._next_piece

    def _notice(self) -> None:
        self._told = False
        self._has_events.set()

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has ended
            self._loop.call_soon_threadsafe(call)
