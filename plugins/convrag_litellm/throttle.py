"""Holds requests back: so many at a time, so many a minute."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

MINUTE = 60.0
"""Seconds of the window in which requests are counted."""


class Throttle:
    """Lets requests go when their turn has come.

    Args:
        at_once: requests on their way at a time; None does not limit them.
        per_minute: requests begun in any minute; None does not limit them.
    """

    def __init__(self, at_once: int | None, per_minute: int | None) -> None:
        self._places = threading.BoundedSemaphore(at_once) if at_once else nullcontext()
        self._begun: deque[float] | None = deque(maxlen=per_minute) if per_minute else None
        self._lock = threading.Lock()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Wait for a turn, and hold a place while a request is on its way."""
        if self._begun is not None:
            time.sleep(self._wait(self._begun))
        with self._places:
            yield

    def _wait(self, begun: deque[float]) -> float:
        """Take the next free moment, and say how far off it is: a minute after the request so many places before."""
        with self._lock:
            now = time.monotonic()
            start = max(now, begun[0] + MINUTE) if len(begun) == begun.maxlen else now
            begun.append(start)
            return start - now
