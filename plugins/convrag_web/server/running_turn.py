"""A turn in a thread, whose events the event loop takes in batches."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import groupby
from math import floor

from convrag import TurnRecord
from convrag.sdk.cancellation import Cancelled, ComputeSlots
from convrag.sdk.errors import OtherConfiguration, RunStopped
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.storage import DiskError, StoreUnusable
from convrag.sdk.tasks.turns import StageFinished, StageNotice
from convrag_web.server.errors import RequestError
from convrag_web.server.server_metrics import Outcome
from convrag_web.server.turn_threads import TurnThreads, find_place

log = logging.getLogger("convrag.serve")

SILENCE_SECONDS = 15.0
"""Seconds without an event after which an empty batch comes: proxies close silent connections."""

TOGETHER_SECONDS = 0.025
"""Turns whose events fall due within this time wake the event loop together, which is cheaper."""

LOST_SECONDS = 1.0
"""Seconds after its timeout at which a turn that has not ended is given up, and its thread lost."""

EVENTS_AT_ONCE = 2000
"""The number of events that the event loop takes from a turn before it looks at others."""

_compute_slots = ComputeSlots(2)  # while one reads or writes files, the other computes

Event = str | StageFinished | StageNotice | TurnRecord
"""A piece of the answer, the end or a wait of a stage, or the record at the end of the turn."""

Tell = Callable[[str | StageFinished | StageNotice], None]
"""Takes an event of the turn; raises Cancelled once the turn is cancelled."""

Work = Callable[[Tell], TurnRecord]
"""Takes a turn, passing each event to its argument, and returns the record."""

OnEnd = Callable[[Outcome, TurnRecord | None], None]


class RunningTurn:
    """A turn in a thread of its own.

    Args:
        threads: one of them takes the turn.
        work: takes the turn.
        seconds: the time that the turn may take.
        on_end: is called in the event loop, once, when the thread has ended, with the outcome and
            the record if there is one; or when it has not ended after the timeout.
        pace: returns the seconds to wait from one batch of events to the next.
    """

    def __init__(
        self,
        threads: TurnThreads,
        work: Work,
        seconds: float,
        on_end: OnEnd,
        pace: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._on_end = on_end
        self._lost = threads.lost
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._has_events = asyncio.Event()
        self._notice_scheduled = False
        self._holding = False  # events wait for their pace; the loop then looks by itself
        self._ended = False
        self._timed_out = False
        self._is_lost = False
        self._thread = 0
        self._release_slot: Callable[[], None] = lambda: None
        self._alarm = self._loop.call_later(seconds, self._end_at_timeout)

        def take_turn(tell: Tell) -> TurnRecord:
            self._thread = threading.get_ident()
            with _compute_slots.hold() as release_slot:
                self._release_slot = release_slot
                return work(tell)

        self._stream = Stream[str | StageFinished | StageNotice, TurnRecord](take_turn)
        self._stream.wake = self._wake
        self._hold_events()
        self._stream.start(threads.run)

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Yield the events in order, in lists of those that are due together; the record is last.

        Pieces that follow each other are joined, and of stages that ended one after the other only
        the last is there, as of waits. A list is empty if nothing has happened for
        `SILENCE_SECONDS`.

        Raises:
            RequestError: the turn took too long, or was cancelled.
            Exception: whatever the turn raised.
        """
        while True:
            if not await self._wait_for_events():
                yield []
                continue
            ended = self._ended  # before the events: none comes after the end
            events = self._take_events()
            ended = ended and not self._stream.events
            if self._stream.events:
                await asyncio.sleep(0)  # others are due
            elif not ended:
                self._hold_events()
            elif self._stream.error is None:
                events.append(self._stream.record)
            if events:
                yield events
            if ended:
                self._raise_error()
                return

    async def finish(self) -> TurnRecord:
        """Wait for the end of the turn, and return its record. Raises as `batches` does."""
        async for _ in self.batches():
            pass
        return self._stream.record

    def cancel(self) -> None:
        """End the turn: no new calls, and calls in flight are dropped. No effect after its end."""
        self._stream.cancel()

    async def leave(self) -> None:
        """End the turn, since its only client leaves."""
        self.cancel()

    def _raise_error(self) -> None:
        if isinstance(self._stream.error, Cancelled):
            if self._timed_out:
                raise _describe_timeout()
            raise RequestError(503, "the turn was cancelled: the server ends", code="cancelled")
        if self._stream.error is not None:
            raise self._stream.error

    def _take_events(self) -> list[Event]:
        waiting = self._stream.events
        taken = [waiting.popleft() for _ in range(min(len(waiting), EVENTS_AT_ONCE))]
        events: list[Event] = []
        for kind, group in groupby(taken, type):
            neighbours = list(group)
            if kind is str:
                events.append("".join(map(str, neighbours)))
            else:
                events.append(neighbours[-1])
        return events

    def _hold_events(self) -> None:
        """Let events wait for as long as the pace says. The end of the turn does not wait."""
        pause = self._pace()
        if not pause:
            return
        self._holding = True
        step = min(TOGETHER_SECONDS, pause / 4)
        due = floor((self._loop.time() + pause) / step) * step
        self._loop.call_at(due, self._release_events)

    def _release_events(self) -> None:
        # First this, then the look at the events: an event that comes later wakes the loop itself
        self._holding = False
        if self._stream.events:
            self._has_events.set()

    @property
    def _is_ready(self) -> bool:
        """Whether there are events that may be sent, or the turn has ended."""
        return self._ended or (bool(self._stream.events) and not self._holding)

    async def _wait_for_events(self) -> bool:
        """Wait until events may be sent; return False after `SILENCE_SECONDS` without any.

        Raises:
            RequestError: the turn took too long.
        """
        until = time.monotonic() + SILENCE_SECONDS
        while not self._is_ready and not self._timed_out:
            left = until - time.monotonic()
            if left <= 0:
                return False
            await self._sleep(left)
        if self._timed_out and not self._ended:
            raise _describe_timeout()
        return True

    async def _sleep(self, seconds: float) -> None:
        """Wait for a wake-up, at most so many seconds."""
        self._has_events.clear()
        alarm = self._loop.call_later(seconds + 0.001, self._has_events.set)
        try:  # an alarm is cheaper than asyncio.timeout
            await self._has_events.wait()
        except asyncio.CancelledError:  # nobody reads the events any more
            self.cancel()
            raise
        finally:
            alarm.cancel()

    def _wake(self) -> None:
        """Let the loop look for events, or for the end. Called by the turn's thread."""
        if self._stream.has_ended:
            self._call_in_loop(self._end)
        elif not self._holding and not self._notice_scheduled:
            self._notice_scheduled = True
            self._call_in_loop(self._notice)

    def _notice(self) -> None:
        self._notice_scheduled = False
        self._has_events.set()

    def _end(self) -> None:
        self._alarm.cancel()
        self._ended = True
        self._has_events.set()
        if self._is_lost:
            log.warning("a turn that had hung has ended; %d threads hang", self._lost.count)
            return
        record = self._stream.record if self._stream.error is None else None
        self._on_end(self._find_outcome(), record)

    def _end_at_timeout(self) -> None:
        """End the turn, since it took too long."""
        self._timed_out = True
        self.cancel()
        self._has_events.set()
        self._alarm = self._loop.call_later(LOST_SECONDS, self._give_up)

    def _give_up(self) -> None:
        """Let other turns have the place of this one: its stage hangs, and nothing can end it."""
        self._is_lost = True
        self._lost.add(self._stream)
        log.error(
            "a turn goes on after its timeout (task.timeout), in %s; %d threads hang",
            find_place(self._thread),
            self._lost.count,
        )
        self._release_slot()
        self._on_end("timeout", None)

    def _find_outcome(self) -> Outcome:
        match self._stream.error:
            case None:
                return "failed" if self._stream.record.error else "answered"
            case Cancelled():
                return "timeout" if self._timed_out else "cancelled"
            case RequestError() | OtherConfiguration():
                return "refused"
            case StoreUnusable() | DiskError():
                return "error"
            case RunStopped():
                return "stopped"
            case _:
                return "error"

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has ended
            self._loop.call_soon_threadsafe(call)


def _describe_timeout() -> RequestError:
    return RequestError(504, "the turn took too long (task.timeout)", code="turn_timeout")
