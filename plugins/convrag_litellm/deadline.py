"""The end of a request that takes too long, or that nobody waits for any more.

An HTTP client's timeout counts anew with every byte, so that slow replies never end, and it knows no cancellation. All
of litellm's providers read through httpcore, below httpx. There, no read may wait beyond the deadline of its thread,
and a read or write ends with `Cancelled` where the calls of its thread are cancelled; other threads read as before.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from convrag.store.cancellation import check_cancelled, when_cancelled

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
    """Make httpcore's sockets keep to `deadline` and to cancellations. To be called once per process."""
    from httpcore import ReadTimeout
    from httpcore._backends.sync import SyncStream

    read_on, write_on = SyncStream.read, SyncStream.write

    def read(self: Any, max_bytes: int, timeout: float | None = None) -> bytes:
        if (end := getattr(_thread, "end", None)) is not None:
            remaining = end - time.monotonic()
            if remaining <= 0:
                raise ReadTimeout("the deadline for the whole reply has passed")
            timeout = remaining if timeout is None else min(timeout, remaining)
        with _until_cancelled(self.get_extra_info("socket")):
            return bytes(read_on(self, max_bytes, timeout))

    def write(self: Any, buffer: bytes, timeout: float | None = None) -> None:
        with _until_cancelled(self.get_extra_info("socket")):
            write_on(self, buffer, timeout)

    SyncStream.read, SyncStream.write = read, write


@contextmanager
def _until_cancelled(connection: socket.socket) -> Iterator[None]:
    """Raise Cancelled where the calls of this thread are cancelled: a read that waits for the connection ends then."""

    def shut_down() -> None:
        with suppress(OSError):  # it is closed already
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # not that of a TLS socket, which is no other thread's

    try:
        with when_cancelled(shut_down):
            yield
    finally:
        check_cancelled()
