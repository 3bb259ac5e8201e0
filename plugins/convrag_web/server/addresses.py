"""The address of a server: taking it, its names, and who reaches it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection
from ipaddress import ip_address

from convrag import ConfigError

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def list_hosts(host: str, names: Collection[str]) -> list[str] | None:
    """The names of a server; None where any may be used: it is open to others, and its token protects it.

    Args:
        host: the address that it listens at.
        names: that the user has given it.
    """
    if not names and not is_loopback(host):
        return None
    return [*_LOOPBACK_NAMES, host, *names]


def bind_socket(host: str, port: int) -> socket.socket:
    """Take an address, without listening yet. Raises ConfigError where it is taken or is none of this machine's."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except BaseException:
            bound.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise explain_address(host, port, error) from error
    return bound


def explain_address(host: str, port: int, error: Exception) -> ConfigError:
    """The error for an address that cannot be used."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return ConfigError(f"task.port={port}: this port is taken; task.port=0 takes a free one")
    if isinstance(error, OSError) and error.errno == errno.EACCES:
        return ConfigError(f"task.port={port}: this user may not use this port; choose one from 1024")
    return ConfigError(f"task.host={host} task.port={port}: this address cannot be used: {error}")


def format_address(bound: socket.socket) -> str:
    """The address of a socket for a browser: http://127.0.0.1:8000/."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
