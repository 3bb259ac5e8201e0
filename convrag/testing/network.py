"""Blocks network access in a test, and lists the attempts."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from typing import Any
from unittest import mock

_PATCHED = ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo"))


@contextmanager
def block_network(*, allow_loopback: bool = False) -> Iterator[list[str]]:
    """Let every attempt to reach a server fail, in all threads; yields the list of the hosts that were tried.

    Args:
        allow_loopback: whether servers on this machine can be reached.
    """
    tried: list[str] = []

    def block(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if (host := _find_host(arguments)) is None or (allow_loopback and _is_loopback(host)):
                return function(*arguments, **named)
            tried.append(host)
            raise OSError(f"there is no network in this test: {host}")

        return call

    with ExitStack() as patches:
        for owner, name in _PATCHED:
            patches.enter_context(mock.patch.object(owner, name, block(getattr(owner, name))))
        yield tried


def _find_host(arguments: tuple[Any, ...]) -> str | None:
    """Find the host in connect(socket, (host, port)) or getaddrinfo(host, port); None for Unix sockets."""
    first = arguments[0] if arguments else None
    if isinstance(first, socket.socket):
        address = arguments[1] if len(arguments) > 1 else None
        return str(address[0]) if isinstance(address, tuple) else None
    return first.decode() if isinstance(first, bytes) else str(first or "localhost")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
