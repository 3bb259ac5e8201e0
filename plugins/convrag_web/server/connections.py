"""Limits of connections: what a client may send, and how long it may wait, before the token.

Uvicorn's parser (httptools) bounds neither the header fields nor the URL of a request, and its
keep-alive timeout covers only a connection that waits between two requests. So the protocol class
here counts what comes, and `close_stale_connections` closes connections that keep the server
waiting. Uvicorn's other parser (h11) bounds the size of a head, but costs more
(benchmarks/speed/test_http_parsers.py).
"""

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from convrag_web.server.errors import RequestError
from convrag_web.server.reply_headers import HEADERS

log = logging.getLogger("convrag.serve")

MOST_FILES = 16_384
"""The number of open files that the server asks the system for."""

RESERVED_FILES = 512
"""Open files that are kept for documents, databases and language models, not for clients."""

FULL_LOG_SECONDS = 60.0
"""The server logs that it is full at most this often."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of connections and of the requests on them.

    Args:
        connections: the number of open connections; further ones are refused.
        fields: the number of header fields of a request, with its trailers.
        field_bytes: the bytes of all header fields, or of anything else that is not complete.
        url_bytes: the bytes of a URL.
        pipelined: the number of requests that may wait on a connection for an earlier one.
        head_seconds: the time within which the head of a request must have come.
        write_seconds: the time after which a client that takes nothing of its reply is left.
    """

    connections: int = 8192
    fields: int = 100
    field_bytes: int = 65_536
    url_bytes: int = 8192
    pipelined: int = 16
    head_seconds: float = 20.0
    write_seconds: float = 60.0


class BoundedProtocol(HttpToolsProtocol):
    """A connection whose requests are bounded before the application gets them.

    Trailers (fields after a body) are counted and dropped, so that none becomes a header.

    Args:
        limits: the limits.
        given: the arguments of uvicorn's class.
    """

    def __init__(self, limits: ConnectionLimits, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._limits = limits
        self._refusal: RequestError | None = None
        self._open_cycles: list[RequestResponseCycle] = []
        self._in_head = True
        self._head_begun = False
        self._fields = 0
        self._field_bytes = 0
        self._made_progress = False
        self._incomplete_bytes = 0
        self._waiting_since = time.monotonic()
        self._unwritten_bytes = 0
        self._unwritten_since = self._waiting_since

    def connection_made(self, transport: Any) -> None:
        """Begin the connection, or refuse it where too many are open."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            _log_full(self._limits.connections)
            message = "too many connections are open; ask again in a moment"
            refusal = RequestError(503, message, code="overloaded", retry_after=5, headers=_CLOSE)
            self._refuse(refusal)

    def connection_lost(self, exc: Exception | None) -> None:
        """End all requests of the connection; uvicorn ends the newest one alone."""
        for cycle in self._open_cycles:
            cycle.disconnected = True
            cycle.message_event.set()
        self._open_cycles.clear()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        if self._refusal is not None or self.transport.is_closing():
            return
        if self._in_head:
            self._begin_head()
        self._made_progress = False
        super().data_received(data)
        if self._made_progress:
            self._incomplete_bytes = 0
            return
        # Part of a field or of a chunk's extension, which the parser keeps until it is complete
        self._incomplete_bytes += len(data)
        if self._incomplete_bytes > self._limits.field_bytes and self._refusal is None:
            self._refuse(self._describe_large_head())

    def on_message_begin(self) -> None:
        """Begin to count the fields of a request."""
        super().on_message_begin()
        self._begin_head()
        self._fields = 0
        self._field_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Add to the URL. Raises RequestError if it is too long; the parser stops then."""
        self._made_progress = True
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            message = f"the URL has more than {self._limits.url_bytes} bytes"
            self._refusal = RequestError(414, message, code="url_too_long", headers=_CLOSE)
            raise self._refusal

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a field. Raises RequestError if there are too many; the parser stops then."""
        self._made_progress = True
        self._fields += 1
        self._field_bytes += len(name) + len(value)
        is_too_much = (
            self._fields > self._limits.fields or self._field_bytes > self._limits.field_bytes
        )
        if is_too_much:
            self._refusal = self._describe_large_head()
            raise self._refusal
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the request. Raises RequestError if too many wait; the parser stops then."""
        self._made_progress = True
        self._in_head = False
        self._head_begun = False
        if len(self.pipeline) >= self._limits.pipelined:
            message = "too many requests were sent on one connection before the first was answered"
            self._refusal = RequestError(429, message, code="too_many_requests", headers=_CLOSE)
            raise self._refusal
        earlier = self.cycle
        super().on_headers_complete()
        if self.cycle is not earlier:
            self._open_cycles.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """Add to the body."""
        self._made_progress = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request's body."""
        self._made_progress = True
        self._in_head = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        self._open_cycles = [each for each in self._open_cycles if not each.response_complete]
        self._waiting_since = time.monotonic()
        super().on_response_complete()
        if self.pipeline:  # uvicorn has resumed reading, so that requests would pile up
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that was refused, or is not HTTP, and close the connection."""
        refusal = self._refusal or RequestError(400, msg, code="invalid_http", headers=_CLOSE)
        self._refuse(refusal)

    def close_if_stale(self, now: float, is_full: bool) -> None:
        """Close the connection if its client keeps the server waiting for too long.

        Args:
            now: the time, by time.monotonic.
            is_full: whether the server needs the connections that wait between two requests.
        """
        if self._has_stalled(now):
            self.transport.abort()
        elif not self._open_cycles and not self.transport.is_closing():
            is_between_requests = self._in_head and not self._head_begun and self.cycle is not None
            if is_between_requests:  # uvicorn closes it when timeout_keep_alive has passed
                is_stale = is_full
            else:
                is_stale = now - self._waiting_since > self._limits.head_seconds
            if is_stale:
                self.transport.close()

    def _begin_head(self) -> None:
        """Note that a request has begun to come."""
        if not self._head_begun:
            self._head_begun = True
            if self.cycle is not None:  # the first head has to come soon after the connection
                self._waiting_since = time.monotonic()

    def _has_stalled(self, now: float) -> bool:
        """Return whether the client has taken nothing of its reply for too long."""
        unwritten = self.transport.get_write_buffer_size()
        if not unwritten or unwritten != self._unwritten_bytes:
            self._unwritten_bytes = unwritten
            self._unwritten_since = now
            return False
        return now - self._unwritten_since > self._limits.write_seconds

    def _describe_large_head(self) -> RequestError:
        message = (
            f"the header of the request has more than {self._limits.fields} fields or "
            f"{self._limits.field_bytes} bytes"
        )
        return RequestError(431, message, code="header_too_large", headers=_CLOSE)

    def _refuse(self, refusal: RequestError) -> None:
        """Send an error if it can be taken for this request's reply, and close the connection."""
        self._refusal = refusal
        if self._may_reply():
            self.transport.write(_format_reply(refusal.to_reply()))
        for cycle in self._open_cycles:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()

    def _may_reply(self) -> bool:
        """Return whether the next reply on this connection is that of the request being read."""
        if self._in_head:
            return not self._open_cycles
        return self._open_cycles == [self.cycle] and not self.cycle.response_started


def close_stale_connections(
    connections: Iterable[Any], limits: ConnectionLimits, now: float
) -> None:
    """Close the connections whose clients keep the server waiting for too long.

    Args:
        connections: the open connections, of `BoundedProtocol`.
        limits: the limits.
        now: the time, by time.monotonic.
    """
    opened = list(connections)
    is_full = len(opened) >= limits.connections
    for connection in opened:
        connection.close_if_stale(now, is_full)


def raise_file_limit() -> int:
    """Raise the limit of open files of this process, and return it."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return MOST_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return most
    with suppress(OSError, ValueError):  # not allowed, or less than the files that are open
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def choose_limits(files: int) -> ConnectionLimits:
    """Return the limits of connections for a process that may open so many files."""
    available = max(files - RESERVED_FILES, files // 2)
    return ConnectionLimits(connections=min(ConnectionLimits.connections, available))


_CLOSE = {"Connection": "close"}

_last_full_log = -FULL_LOG_SECONDS


def _log_full(connections: int) -> None:
    """Log that the server is full, unless that was logged a moment ago."""
    global _last_full_log
    now = time.monotonic()
    if now - _last_full_log < FULL_LOG_SECONDS:
        return
    _last_full_log = now
    log.warning(
        "%d connections are open, which is the limit; further ones are refused. A higher limit of "
        "open files (ulimit -n) allows more",
        connections,
    )


def _format_reply(reply: Response) -> bytes:
    """Format a whole reply as HTTP."""
    fields = dict(reply.headers) | HEADERS
    lines = [f"{name}: {value}\r\n".encode("latin-1") for name, value in fields.items()]
    return b"".join([STATUS_LINE[reply.status_code], *lines, b"\r\n", bytes(reply.body)])
