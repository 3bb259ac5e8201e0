"""Uvicorn at an address; its end lets turns finish."""

from __future__ import annotations

import errno
import gc
import signal
import socket
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address
from threading import current_thread, main_thread
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from convrag import ConfigError
from convrag.sdk.output.console import make_console
from convrag_web.server.connections import (
    BoundedProtocol,
    ConnectionLimits,
    choose_limits,
    close_stale_connections,
    raise_file_limit,
)

BACKLOG = 2048
"""The number of connections that may wait to be accepted."""

KEEP_ALIVE_SECONDS = 65
"""The time that an idle connection is kept open; more than the minute of most proxies."""

TICKS_PER_SECOND = 10
"""The number of times that uvicorn calls `on_tick` in a second."""

SECOND_SIGNAL_SECONDS = 0.3
"""Signals closer together than this are one: a terminal and a wrapper (make) both send Ctrl-C."""

YOUNG_OBJECTS = 20_000
"""The number of new objects after which the garbage collector looks for cycles among them.

A turn makes thousands of objects and hardly any cycle. In a turn among 64, the collector took .45
ms with Python's own 700, and takes .09 ms with this (by gc.callbacks).
"""

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def run_server(server: TurnServer, bound: socket.socket, answering: str = "") -> None:
    """Serve at an address that was taken, and print it, until told to end.

    Args:
        server: the server.
        bound: the address; it stands in the first line, which programs read.
        answering: who answers, for the second line; empty for none.
    """
    host, port = bound.getsockname()[:2]
    gc.collect()
    # Collections skip what was loaded until now: each took up to .1 s, in which no turn went on
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    shown = f"[{host}]" if ":" in host else host
    print_line(f"Serving on http://{shown}:{port}/ (Ctrl-C ends it)")
    if answering:
        print_line(answering)
    server.run(sockets=[bound])


def print_line(line: str) -> None:
    """Print a line on the terminal."""
    make_console().print(line, soft_wrap=True, highlight=False, markup=False)


class TurnServer(uvicorn.Server):
    """A server that ends with status 0 at a signal, once its turns have ended.

    At the second signal it ends at once.

    Args:
        app: the application.
        grace: the seconds that turns in progress have to finish.
        limits: the limits of connections; by default those that the limit of open files allows.
    """

    def __init__(
        self, app: ASGIApp, *, grace: float, limits: ConnectionLimits | None = None
    ) -> None:
        self._limits = limits or choose_limits(raise_file_limit())
        config = uvicorn.Config(
            app,
            http=partial(BoundedProtocol, self._limits),
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=grace,
            backlog=BACKLOG,
        )
        super().__init__(config)
        self._first_signal: float | None = None

    async def on_tick(self, counter: int) -> bool:
        """Do what is due ten times a second; return whether to end."""
        if counter % TICKS_PER_SECOND == 0:
            connections = self.server_state.connections
            close_stale_connections(connections, self._limits, time.monotonic())
        ends: bool = await super().on_tick(counter)
        return ends

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals during the block.

        Uvicorn's own method raises them again at its end, so that the command would fail.
        """
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
        if self._first_signal is None:
            self._first_signal = now
            self.should_exit = True
        elif now - self._first_signal > SECOND_SIGNAL_SECONDS:
            self.force_exit = True


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def list_hosts(host: str, names: Collection[str]) -> list[str] | None:
    """List the names of a server; None if any may be used, since a token protects the server.

    Args:
        host: the address that it listens at.
        names: the names that the user has given it.
    """
    if not names and not is_loopback(host):
        return None
    return [*_LOOPBACK_NAMES, host, *names]


def bind_socket(host: str, port: int) -> socket.socket:
    """Take an address. Raises ConfigError if it is taken, or belongs to another machine."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise _explain_address(host, port, error) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise _explain_address(host, port, error) from error
    return bound


def _explain_address(host: str, port: int, error: Exception) -> ConfigError:
    message = f"task.host={host} task.port={port}: this address cannot be used: {error}"
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        message += "; task.port=0 takes a free port"
    return ConfigError(message)
