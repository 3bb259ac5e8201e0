"""Limits on the requests of a stage: how many are in flight at a time, and how many begin in a minute."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from convrag.sdk.cancelling import check_cancelled, sleep

WINDOW_SECONDS = 60.0
"""The length of the sliding window in which requests are counted."""


class RateLimiter:
    """Delays requests so that they keep within both limits.

    Args:
        max_concurrent: requests in flight at a time; None does not limit them.
        per_minute: requests begun in any 60 seconds; None does not limit them.
    """

    def __init__(self, max_concurrent: int | None, per_minute: int | None) -> None:
        self._slots = threading.BoundedSemaphore(max_concurrent) if max_concurrent else nullcontext()
        self._starts: deque[float] | None = deque(maxlen=per_minute) if per_minute else None
        self._lock = threading.Lock()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait until a request may begin, and hold a slot while it is in flight. Raises Cancelled."""
        if self._starts is not None:
            sleep(self._schedule_start(self._starts))
        with self._slots:
            check_cancelled()
            yield

    def _schedule_start(self, starts: deque[float]) -> float:
        """Add the next free start to `starts`, and return the seconds until then.

        It lies a window after the start `per_minute` requests earlier, which is the oldest that the deque holds.
        """
        with self._lock:
            now = time.monotonic()
            start = max(now, starts[0] + WINDOW_SECONDS) if len(starts) == starts.maxlen else now
            starts.append(start)
            return start - now
