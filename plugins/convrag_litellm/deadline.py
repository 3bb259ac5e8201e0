"""A deadline for a whole reply: timeouts of HTTP clients count from byte to byte, so that a drip never ends.

It is put where all of litellm's providers read, below httpx: no read may wait beyond the deadline of its thread.
Threads without one, of whatever library, read as before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_thread = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """What this thread reads from HTTP servers meanwhile must be there within so many seconds from now."""
    _thread.end = time.monotonic() + seconds
    try:
        yield
    finally:
        _thread.end = None


def install() -> None:
    """Make httpcore's sockets respect deadlines. Once per process."""
    from httpcore import ReadTimeout
    from httpcore._backends.sync import SyncStream

    plain = SyncStream.read

    def read(self: Any, max_bytes: int, timeout: float | None = None) -> bytes:
        if (end := getattr(_thread, "end", None)) is not None:
            left = end - time.monotonic()
            if left <= 0:
                raise ReadTimeout("the deadline for the whole reply has passed")
            timeout = left if timeout is None else min(timeout, left)
        return bytes(plain(self, max_bytes, timeout))

    SyncStream.read = read
