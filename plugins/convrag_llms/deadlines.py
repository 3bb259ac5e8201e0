"""Deadlines and cancellation of what a thread reads from servers and writes to them.

The timeout of an HTTP client counts anew with every byte, so that slow replies never end, and it
knows no cancellation. The sockets here look at the `deadline` of the thread that reads or writes,
and end when that thread's calls are cancelled.
"""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from convrag.sdk.cancellation import check_cancelled, when_cancelled

_thread = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let the reads and writes of this thread end once so many seconds have passed.

    With one block inside another, the earlier end counts.
    """
    outer: float | None = getattr(_thread, "end", None)
    end = time.monotonic() + seconds
    _thread.end = end if outer is None else min(end, outer)
    try:
        yield
    finally:
        _thread.end = outer


def find_remaining_seconds() -> float | None:
    """Find the seconds until the deadline of this thread; None without a deadline."""
    end: float | None = getattr(_thread, "end", None)
    return None if end is None else end - time.monotonic()


class _Guarded:
    """The methods of a socket that keep to the deadline and the cancellation of their thread."""

    def recv_into(self: Any, *args: Any) -> int:
        with _guard(self):
            count: int = super().recv_into(*args)  # type: ignore[misc]
        return count

    def sendall(self: Any, *args: Any) -> None:
        with _guard(self):
            super().sendall(*args)  # type: ignore[misc]


class PlainSocket(_Guarded, socket.socket):
    """A socket without TLS."""


class TlsSocket(_Guarded, ssl.SSLSocket):
    """A socket with TLS."""


@contextmanager
def _guard(connection: socket.socket) -> Iterator[None]:
    """Read or write within the block. Raises TimeoutError and Cancelled."""

    def shut_down() -> None:
        with suppress(OSError):  # it is closed already
            # A TLS socket's own method is for its thread alone.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    remaining = find_remaining_seconds()
    if remaining is not None:
        if remaining <= 0:
            raise TimeoutError("the deadline for the whole reply has passed")
        connection.settimeout(remaining)
    try:
        with when_cancelled(shut_down):
            yield
    finally:
        check_cancelled()
