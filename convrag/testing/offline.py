"""A time without network: who tries all the same is written down."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from typing import Any
from unittest import mock

_WAYS = ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo"))


@contextmanager
def without_network(*, this_machine: bool = False) -> Iterator[list[str]]:
    """Let every attempt to reach a server fail, in all threads; gives the list of those that were made.

    Args:
        this_machine: whether servers on this machine may be asked.
    """
    asked: list[str] = []

    def guarded(way: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if (host := _host(arguments)) is None or (this_machine and _is_here(host)):
                return way(*arguments, **named)
            asked.append(host)
            raise OSError(f"there is no network in this test: {host}")

        return call

    with ExitStack() as patches:
        for owner, name in _WAYS:
            patches.enter_context(mock.patch.object(owner, name, guarded(getattr(owner, name))))
        yield asked


def _host(arguments: tuple[Any, ...]) -> str | None:
    """Whom a call is about: connect(socket, (host, port)) or getaddrinfo(host, port); None for sockets in files."""
    first = arguments[0] if arguments else None
    if isinstance(first, socket.socket):
        address = arguments[1] if len(arguments) > 1 else None
        return str(address[0]) if isinstance(address, tuple) else None
    return first.decode() if isinstance(first, bytes) else str(first or "localhost")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
