"""The limits that all calls of a stage share: money, and requests at a time and in a minute."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from convrag.sdk.cancellation import check_cancelled, sleep, when_cancelled
from convrag.sdk.errors import RunStopped
from convrag_llms.prices import TokenPrices

WINDOW_SECONDS = 60.0
"""The length of the sliding window in which requests are counted."""


class Budget:
    """Keeps what requests cost below a limit, however many are in flight.

    Args:
        limit: US dollars; None is no limit.
        model: named in the error message.
    """

    def __init__(self, limit: float | None, model: str) -> None:
        self.limit = limit
        self.model = model
        self.spent = 0.0
        self._reserved: list[float] = []
        self._changed = threading.Condition()

    @contextmanager
    def reserve(
        self, max_cost: float, place: str = "llm"
    ) -> Iterator[Callable[[float | None], None]]:
        """Reserve the most that a request can cost while it is in flight.

        Yields a function that is called with the real cost; None, for a cost that is not known,
        counts as the most. A request for which it is not called has cost nothing.

        A request that fits only without the reservations of others waits until these are settled.

        Args:
            max_cost: US dollars.
            place: of the stage in the configuration, for the message.

        Raises:
            RunStopped: what is left of the budget is less than max_cost.
            Cancelled: the calls of this thread are cancelled meanwhile.
        """
        cost = 0.0

        def settle(real: float | None) -> None:
            nonlocal cost
            cost = max_cost if real is None else real

        def is_decided() -> bool:
            never_fits = not self._fits(max_cost)
            return never_fits or self._fits(max_cost + sum(self._reserved))

        with self._changed:
            wait_for(self._changed, is_decided)
            if not self._fits(max_cost):
                raise RunStopped(
                    f"{place}.max_cost_usd={self.limit:g} is nearly spent: {self.model} has cost "
                    f"${self.spent:.4f}, and the next request could cost ${max_cost:.4f}. Give it "
                    "more, and the same command goes on from here."
                )
            self._reserved.append(max_cost)
        try:
            yield settle
        finally:
            with self._changed:
                self._reserved.remove(max_cost)
                self.spent += cost
                self._changed.notify_all()

    def _fits(self, max_cost: float) -> bool:
        return self.limit is None or self.spent + max_cost <= self.limit


class RateLimiter:
    """Delays requests so that they keep within both limits.

    Args:
        max_concurrent: requests in flight at a time; None does not limit them.
        per_minute: requests begun in any 60 seconds; None does not limit them.
    """

    def __init__(self, max_concurrent: int | None, per_minute: int | None) -> None:
        self._free = max_concurrent or float("inf")
        self._starts: deque[float] | None = deque(maxlen=per_minute) if per_minute else None
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait until a request may begin, and hold a slot during it. Raises Cancelled."""
        if self._starts is not None:
            sleep(self._schedule_start(self._starts))
        with self._changed:
            wait_for(self._changed, lambda: self._free > 0)
            self._free -= 1
        try:
            check_cancelled()
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()

    def _schedule_start(self, starts: deque[float]) -> float:
        """Add the next free start to `starts`, and return the seconds until then.

        It lies a window after the start `per_minute` requests earlier, the oldest in the deque.
        """
        with self._changed:
            now = time.monotonic()
            start = now
            if len(starts) == starts.maxlen:
                start = max(now, starts[0] + WINDOW_SECONDS)
            starts.append(start)
            return start - now


@dataclass(frozen=True)
class Limits:
    """The limits of a stage; see the options for timeout, retries and retry_seconds."""

    timeout: float
    retries: int
    retry_seconds: float
    rate_limiter: RateLimiter
    budget: Budget
    find_prices: Callable[[], TokenPrices | None]


def wait_for(changed: threading.Condition, is_due: Callable[[], bool]) -> None:
    """Wait, holding the lock of `changed`, until something is due. Raises Cancelled."""
    if is_due():
        return

    def wake() -> None:
        with changed:
            changed.notify_all()

    with when_cancelled(wake):
        try:
            while not is_due():
                check_cancelled()
                changed.wait()
        except BaseException:
            changed.notify()  # what woke this thread may have been meant for another
            raise
