"""Runs a limited number of turns at once, each in a thread.

    turn = await runner.start(work, lambda: "convrag")
    async for events in turn.batches():
        ...

A turn mostly waits for servers, and its stages block. So each turn has a thread, and the event
loop does everything else.
"""

import asyncio
import time
from collections.abc import Callable

from anyio import CapacityLimiter

from convrag import TurnRecord
from convrag_web.server.errors import RequestError
from convrag_web.server.running_turn import RunningTurn, Work
from convrag_web.server.server_metrics import Outcome, ServerMetrics
from convrag_web.server.turn_threads import TurnThreads

PIECES_PER_SECOND = 320
"""Pieces of answers sent per second over all turns: each costs the same, short or long."""

LEAST_LOST_THREADS = 8
"""A server with fewer lost threads goes on, however few workers it has."""

NameModel = Callable[[], str | None]
"""Returns a turn's model for the metrics; None for a reply that does not count as a turn."""


class TurnRunner:
    """Runs some turns at once, lets some more wait, and refuses others.

    Args:
        workers: the number of turns at once.
        queue: the number of turns that may wait.
        queue_seconds: the time that a turn may wait.
        seconds: the time that a turn may take once it runs.
        metrics: counts the turns.
    """

    def __init__(
        self,
        *,
        workers: int,
        queue: int,
        queue_seconds: float,
        seconds: float,
        metrics: ServerMetrics,
    ) -> None:
        self.seconds = seconds
        self._limiter = CapacityLimiter(workers)
        self._queue = queue
        self._queue_seconds = queue_seconds
        self._most_lost = max(workers, LEAST_LOST_THREADS)
        self._metrics = metrics
        self._threads = TurnThreads()
        self.lost = self._threads.lost
        metrics.in_progress.set_function(lambda: self._limiter.borrowed_tokens)
        metrics.waiting.set_function(lambda: self._limiter.statistics().tasks_waiting)
        metrics.lost_threads.set_function(lambda: self.lost.count)

    @property
    def must_restart(self) -> bool:
        """Whether so many stages hang that the server takes no turn until it is started again."""
        return self.lost.count >= self._most_lost

    async def start(
        self, work: Work, name_model: NameModel, on_end: Callable[[], None] = lambda: None
    ) -> RunningTurn:
        """Start a turn as soon as there is room for it.

        Args:
            work: takes the turn.
            name_model: names the model when the turn has ended; empty where it is not known.
            on_end: is called when the turn has ended, in whatever way, or was refused.

        Raises:
            RequestError: too many turns are waiting, it has waited for too long, or the server must
                be started again.
        """
        turn = object()
        try:
            self._check_threads(name_model)
            self._check_queue(name_model)
            await self._wait_for_room(turn, name_model)
        except BaseException:
            on_end()
            raise
        started = time.monotonic()

        def finish(outcome: Outcome, record: TurnRecord | None) -> None:
            self._limiter.release_on_behalf_of(turn)
            self._metrics.count_turn(name_model(), outcome, time.monotonic() - started, record)
            on_end()

        return RunningTurn(self._threads, work, self.seconds, finish, self._compute_pace)

    async def _wait_for_room(self, turn: object, name_model: NameModel) -> None:
        """Wait until a turn may run. Raises RequestError if that takes too long."""
        try:
            async with asyncio.timeout(self._queue_seconds):
                await self._limiter.acquire_on_behalf_of(turn)
        except TimeoutError:
            self._metrics.count_turn(name_model(), "refused", 0.0, None)
            message = (
                "no turn has ended for too long (task.workers, task.queue_timeout); ask again later"
            )
            raise RequestError(503, message, code="overloaded", retry_after=10) from None

    def _compute_pace(self) -> float:
        """Compute the seconds from one batch of a turn's events to the next."""
        running = self._limiter.borrowed_tokens
        return running / PIECES_PER_SECOND if running > 1 else 0.0

    def _check_threads(self, name_model: NameModel) -> None:
        """Raise RequestError if too many threads are lost."""
        if self.must_restart:
            self._metrics.count_turn(name_model(), "refused", 0.0, None)
            raise RequestError(503, describe_lost(self.lost.count), code="must_restart")

    def _check_queue(self, name_model: NameModel) -> None:
        """Raise RequestError if the turn would wait, and the queue is full."""
        if self._limiter.available_tokens > 0:
            return
        if self._limiter.statistics().tasks_waiting < self._queue:
            return
        self._metrics.count_turn(name_model(), "refused", 0.0, None)
        message = "too many questions at once (task.workers, task.queue); ask again in a moment"
        raise RequestError(503, message, code="overloaded", retry_after=1)


def describe_lost(count: int) -> str:
    """Say how many stages hang, and what to do."""
    return (
        f"{count} turns hang in a stage that ignores its timeout: the server must be started again "
        "(its log names the places)"
    )
