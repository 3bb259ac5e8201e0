"""Runs a limited number of turns at once, each in a thread.

    turn = await runner.start(work, lambda: "convrag")
    async for events in turn.batches():
        ...

A turn mostly waits for servers, and its stages block. So each turn has a thread, and the event
loop does everything else.
"""

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

NameModel = Callable[[], str | None]
"""Returns a turn's model for the metrics; None for a reply that does not count as a turn."""


class TurnRunner:
    """Runs some turns at once, lets some more wait, and refuses others.

    Args:
        workers: the number of turns at once.
        queue: the number of turns that may wait.
        seconds: the time that a turn may take once it runs.
        metrics: counts the turns.
    """

    def __init__(self, *, workers: int, queue: int, seconds: float, metrics: ServerMetrics) -> None:
        self._limiter = CapacityLimiter(workers)
        self._queue = queue
        self._seconds = seconds
        self._metrics = metrics
        self._threads = TurnThreads()
        metrics.in_progress.set_function(lambda: self._limiter.borrowed_tokens)
        metrics.waiting.set_function(lambda: self._limiter.statistics().tasks_waiting)

    async def start(
        self, work: Work, name_model: NameModel, on_end: Callable[[], None] = lambda: None
    ) -> RunningTurn:
        """Start a turn as soon as there is room for it.

        Args:
            work: takes the turn.
            name_model: names the model when the turn has ended; empty where it is not known.
            on_end: is called when the turn has ended, in whatever way, or was refused.

        Raises:
            RequestError: too many turns are waiting.
        """
        turn = object()
        try:
            self._check_queue(name_model)
            await self._limiter.acquire_on_behalf_of(turn)
        except BaseException:
            on_end()
            raise
        started = time.monotonic()

        def finish(outcome: Outcome, record: TurnRecord | None) -> None:
            self._limiter.release_on_behalf_of(turn)
            self._metrics.count_turn(name_model(), outcome, time.monotonic() - started, record)
            on_end()

        return RunningTurn(self._threads, work, self._seconds, finish, self._compute_pace)

    def _compute_pace(self) -> float:
        """Compute the seconds from one batch of a turn's events to the next."""
        running = self._limiter.borrowed_tokens
        return running / PIECES_PER_SECOND if running > 1 else 0.0

    def _check_queue(self, name_model: NameModel) -> None:
        """Raise RequestError if the turn would wait, and the queue is full."""
        if self._limiter.available_tokens > 0:
            return
        if self._limiter.statistics().tasks_waiting < self._queue:
            return
        self._metrics.count_turn(name_model(), "refused", 0.0, None)
        message = "too many questions at once (task.workers, task.queue); ask again in a moment"
        raise RequestError(503, message, code="overloaded", retry_after=1)
