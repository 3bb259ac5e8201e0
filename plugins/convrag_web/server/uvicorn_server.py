"""Uvicorn with what a server in the open needs beside: an end that lets turns finish, and a limit for slow headers."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import HANDLED_SIGNALS

HEADER_SECONDS = 20.0
"""From the first byte of a request, or from the connection, until its headers must be complete."""

MAX_HEADER_BYTES = 65536
"""Of a request's line and headers together."""

KEEP_ALIVE_SECONDS = 65
"""That an idle connection is kept; more than the minute of most proxies."""

SECOND_SIGNAL_SECONDS = 0.3
"""Signals that come closer together are one: a terminal and a wrapper such as make both send Ctrl-C."""


class PatientProtocol(HttpToolsProtocol):
    """Uvicorn's protocol, which closes a connection whose headers do not come, or do not end."""

    _headers_due: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for the first headers."""
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._headers_due is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._headers_due is not None and self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too long.")

    def on_message_begin(self) -> None:
        """Wait for the headers of another request."""
        super().on_message_begin()
        if self._headers_due is None:
            self._expect_headers()

    def on_headers_complete(self) -> None:
        """Wait no longer."""
        self._stop_expecting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_expecting()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._header_bytes = 0
        self._headers_due = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_expecting(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None


class TurnServer(uvicorn.Server):
    """A server that ends with status 0 at a signal, once its turns have ended, and at the second signal at once.

    Args:
        app: the application.
        grace: seconds that turns in progress have to finish.
    """

    def __init__(self, app: ASGIApp, *, grace: float) -> None:
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=grace,
            backlog=2048,
        )
        super().__init__(config)
        self._told = 0.0

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals during the block. Uvicorn's own raises them again at its end, and the command would fail."""
        if current_thread() is not main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and at the second signal end without waiting for turns."""
        now = time.monotonic()
        if not self._told:
            self._told = now
            self.should_exit = True
        elif now - self._told > SECOND_SIGNAL_SECONDS:
            self.force_exit = True
