"""Turns: so many at once, each in a thread, while so many more wait; the event loop takes their
events.

    turn = await runner.start(lambda tell: pipeline.answer(question, TurnOptions(listener=tell)),
    lambda: "convrag") async for events in turn.batches():
        ...

A turn waits for servers most of its time, and its stages block: so each has a thread, and the loop
has all else.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import Context
from itertools import groupby
from math import floor
from queue import SimpleQueue

from convrag import TurnRecord
from convrag.sdk.cancellation import Cancelled, ComputeSlots
from convrag.sdk.errors import OtherConfiguration, RunStopped
from convrag.sdk.llm.streaming import Stream
from convrag.sdk.tasks.turns import StageFinished
from convrag_web.server.errors import RequestError
from convrag_web.server.server_metrics import Outcome, ServerMetrics

PIECES_PER_SECOND = 320
"""How many pieces of answers are sent, over all turns: each costs the server the same, whether it
is short or long.
"""

SILENCE_SECONDS = 15.0
"""After so many seconds without an event the batch is empty: a proxy may close a silent connection.
"""

TOGETHER_SECONDS = 0.025
"""Turns whose events may be sent within so many seconds are woken together, which costs the loop a
fraction.
"""

_slots = ComputeSlots(2)  # one reads or writes files, perhaps, and lets the other compute

Event = str | StageFinished | TurnRecord
"""A piece of the answer, the end of a stage with the record so far, or the record at the end of the
turn.
"""

Tell = Callable[[str | StageFinished], None]
Work = Callable[[Tell], TurnRecord]
"""Takes a turn and returns its record. It calls its argument with each event before; that may raise
Cancelled.
"""


class TurnRunner:
    """Runs turns: so many at once, so many more wait, and others are refused.

    Args:
        workers: turns at once.
        queue: turns that may wait for one of these to end.
        seconds: that a turn may take, without its waiting.
        metrics: counts the turns.
    """

    def __init__(self, *, workers: int, queue: int, seconds: float, metrics: ServerMetrics) -> None:
        self._slots = asyncio.Semaphore(workers)
        self._queue = queue
        self._seconds = seconds
        self._metrics = metrics
        self._threads = TurnThreads()
        self._waiting = 0
        self._running = 0

    async def start(
        self,
        work: Work,
        name_model: Callable[[], str | None],
        on_end: Callable[[], None] = lambda: None,
    ) -> RunningTurn:
        """Start a turn as soon as there is room for it.

        Args:
            work: takes the turn.
            name_model: names its model, for the metrics, when the turn has ended; empty where it is
                not known; None for a reply that is no turn, and counts for none.
            on_end: is called when the turn has ended, in whatever way, or was refused.

        Raises:
            RequestError: too many turns are waiting.
        """
        try:
            await self._wait_for_slot(name_model)
        except BaseException:
            on_end()
            raise
        started = time.monotonic()
        self._running += 1
        self._metrics.in_progress.set(self._running)

        def finish(outcome: Outcome, record: TurnRecord | None) -> None:
            self._slots.release()
            self._running -= 1
            self._metrics.in_progress.set(self._running)
            self._metrics.count_turn(name_model(), outcome, time.monotonic() - started, record)
            on_end()

        return RunningTurn(self._threads, work, self._seconds, finish, self._compute_pace)

    def _compute_pace(self) -> float:
        return self._running / PIECES_PER_SECOND if self._running > 1 else 0.0

    async def _wait_for_slot(self, name_model: Callable[[], str | None]) -> None:
        if self._slots.locked() and self._waiting >= self._queue:
            self._metrics.count_turn(name_model(), "refused", 0.0, None)
            message = "too many questions at once (task.workers, task.queue); ask again in a moment"
            raise RequestError(503, message, code="overloaded", retry_after=1)
        self._waiting += 1
        self._metrics.waiting.set(self._waiting)
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
            self._metrics.waiting.set(self._waiting)


class RunningTurn:
    """A turn in a thread of its own.

    Args:
        threads: one of them takes the turn.
        work: takes the turn.
        seconds: that the turn may take.
        on_end: is called in the event loop when the thread has ended, with the outcome and the
            record, if there is one.
        pace: tells how many seconds to wait from one batch of pieces and ends of stages to the
            next.
    """

    def __init__(
        self,
        threads: TurnThreads,
        work: Work,
        seconds: float,
        on_end: Callable[[Outcome, TurnRecord | None], None],
        pace: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._on_end = on_end
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._has_events = asyncio.Event()
        self._told = False  # whether the loop is about to look for events
        self._held = (
            False  # whether events wait until they may be sent; then the loop looks by itself
        )
        self._ended = False
        self._deadline = time.monotonic() + seconds
        self._timed_out = False

        def take_turn(tell: Tell) -> TurnRecord:
            with _slots.hold():
                return work(tell)

        self._stream = Stream[str | StageFinished, TurnRecord](take_turn)
        self._stream.wake = self._wake
        self._hold()
        self._stream.start(threads.run)

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Yield the events in order, those that may be sent together in one list; the record is the
        last.

        Pieces that follow each other are joined, and of stages that have ended the last is told. A
        list is empty where nothing has happened for `SILENCE_SECONDS`. Raises what the turn raised;
        RequestError if it was too slow.
        """
        while True:
            if not await self._wait():
                yield []
                continue
            ended = self._ended
            events = self._take_events()
            if not ended:
                self._hold()
            elif self._stream.error is None:
                events.append(self._stream.record)
            if events:
                yield events
            if not ended:
                continue
            if isinstance(self._stream.error, Cancelled):
                raise RequestError(503, "the turn was cancelled: the server ends", code="cancelled")
            if self._stream.error is not None:
                raise self._stream.error
            return

    async def finish(self) -> TurnRecord:
        """Wait for the end of the turn, and return its record. Raises as `batches` does."""
        async for _ in self.batches():
            pass
        return self._stream.record

    def cancel(self) -> None:
        """End the turn: no new calls, and calls in flight are dropped. Without effect if it has
        ended.
        """
        self._stream.cancel()

    async def leave(self) -> None:
        """End the turn, whose only client leaves."""
        self.cancel()

    def _take_events(self) -> list[Event]:
        told = self._stream.events
        taken = [told.popleft() for _ in range(len(told))]
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
        # Before the look at the events: whoever adds one later sees it, and tells the loop
        self._held = False
        if self._stream.events:
            self._has_events.set()

    async def _wait(self) -> bool:
        """Wait for an event, and return whether there is one. Raises RequestError where the turn
        took too long.
        """
        end = min(self._deadline, time.monotonic() + SILENCE_SECONDS)
        while not (self._ended or (self._stream.events and not self._held)):
            if (left := end - time.monotonic()) <= 0:
                break
            self._has_events.clear()
            alarm = self._loop.call_later(
                left + 0.001, self._has_events.set
            )  # cheaper than asyncio.timeout
            try:
                await self._has_events.wait()
            except asyncio.CancelledError:  # nobody reads any more
                self.cancel()
                raise
            finally:
                alarm.cancel()
        else:
            return True
        if end < self._deadline:
            return False
        self._timed_out = True
        self.cancel()
        raise RequestError(504, "the turn took too long (task.timeout)", code="turn_timeout")

    def _wake(self) -> None:
        """Let the loop look for events, or for the end. Called by the turn's thread."""
        if self._stream.has_ended:
            self._call_in_loop(self._end)
        elif not self._held and not self._told:
            self._told = True
            self._call_in_loop(self._notice)

    def _notice(self) -> None:
        self._told = False
        self._has_events.set()

    def _end(self) -> None:
        self._ended = True
        self._has_events.set()
        match self._stream.error:
            case None:
                record = self._stream.record
                self._on_end("failed" if record.error else "answered", record)
            case Cancelled():
                self._on_end("timeout" if self._timed_out else "cancelled", None)
            case RequestError() | OtherConfiguration():
                self._on_end("refused", None)
            case RunStopped():
                self._on_end("stopped", None)
            case _:
                self._on_end("error", None)

    def _call_in_loop(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has ended
            self._loop.call_soon_threadsafe(call)


class TurnThreads:
    """Threads in which turns run: one that is idle takes the next, and a new one begins only where none is.

    To begin a thread takes the event loop longer than anything else that it does for a turn: it
    waits until the thread runs. The threads end with the process, whatever a stage does.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def run(self, work: Callable[[], None]) -> None:
        """Call a function, which raises nothing, in one of the threads."""
        with self._lock:
            needs_thread = not self._idle
            if not needs_thread:
                self._idle -= 1
        self._work.put(work)
        if needs_thread:
            threading.Thread(target=self._run, name="turn", daemon=True).start()

    def _run(self) -> None:
        while True:
            Context().run(self._work.get())
            with self._lock:
                self._idle += 1
