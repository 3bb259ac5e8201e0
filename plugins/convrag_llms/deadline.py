"""The end of a request that takes too long, or that nobody waits for any more.

An HTTP client's timeout counts anew with every byte, so that slow replies never end, and it knows no cancellation.
Where a client reads from its socket, it asks here how long it may wait, and waits within `until_cancelled`: see
httpcore_deadline.py for the clients of litellm, connections.py for our own.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from convrag.sdk.cancelling import check_cancelled, when_cancelled

_thread = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let the reads of this thread from HTTP servers end once so many seconds have passed.

    Of one block within another, the earlier end counts.
    """
    outer: float | None = getattr(_thread, "end", None)
    end = time.monotonic() + seconds
    _thread.end = end if outer is None else min(end, outer)
    try:
        yield
    finally:
        _thread.end = outer


def remaining_seconds() -> float | None:
    """Seconds until the deadline of this thread, 0 or less once it has passed; None without a deadline."""
    end: float | None = getattr(_thread, "end", None)
    return None if end is None else end - time.monotonic()


@contextmanager
def until_cancelled(connection: socket.socket) -> Iterator[None]:
    """Raise Cancelled where the calls of this thread are cancelled: a read that waits for the connection ends then."""

    def shut_down() -> None:
        with suppress(OSError):  # it is closed already
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not that of a TLS socket, which is no other thread's

    try:
        with when_cancelled(shut_down):
            yield
    finally:
        check_cancelled()
