"""Starts turns: so many at once, while so many more wait.

turn = await runner.start(lambda emit: pipeline.answer(question, TurnOptions(listener=emit)), lambda: "convrag")
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from convrag import TurnRecord
from convrag_web.server.errors import RequestError
from convrag_web.server.running_turn import RunningTurn, Work
from convrag_web.server.server_metrics import Outcome, ServerMetrics
from convrag_web.server.turn_threads import TurnThreads

PIECES_PER_SECOND = 320
"""How many pieces of answers are sent, over all turns: each costs the server the same, whether it is short or long."""


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
        self, work: Work, name_model: Callable[[], str], on_end: Callable[[], None] = lambda: None
    ) -> RunningTurn:
        """Start a turn as soon as there is room for it.

        Args:
            work: takes the turn.
            name_model: names its model, for the metrics, when the turn has ended; empty where it is not known.
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

    async def _wait_for_slot(self, name_model: Callable[[], str]) -> None:
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
