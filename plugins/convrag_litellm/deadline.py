"""A deadline for a whole reply: an HTTP client's timeout counts anew with every byte, so that slow replies never end.

All of litellm's providers read through httpcore, below httpx. There, no read may wait beyond the deadline of its
thread; threads without a deadline read as before.
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
    """Let reads of this thread from HTTP servers raise ReadTimeout once so many seconds have passed."""
    _thread.end = time.monotonic() + seconds
    try:
        yield
    finally:
        _thread.end = None


def patch_httpcore() -> None:
    """Make httpcore's sockets keep to `deadline`. To be called once per process."""
    from httpcore import ReadTimeout
    from httpcore._backends.sync import SyncStream

    original = SyncStream.read

    def read(self: Any, max_bytes: int, timeout: float | None = None) -> bytes:
        if (end := getattr(_thread, "end", None)) is not None:
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise ReadTimeout("the deadline for the whole reply has passed")
            timeout = remaining if timeout is None else min(timeout, remaining)
        return bytes(original(self, max_bytes, timeout))

    SyncStream.read = read
