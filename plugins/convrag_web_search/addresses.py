"""Public addresses: no page is fetched from this machine or from a private network.

An engine's results are chosen by strangers. A page's name could stand for a router or for the
metadata of a cloud's machine, so the address that is checked is the one that is connected to.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult

from convrag_web_search.client import Failure

if TYPE_CHECKING:
    import ssl

    import urllib3

_PORTS = {"http": 80, "https": 443}
_EMBEDDING = (
    ipaddress.ip_network("64:ff9b::/96"),
    ipaddress.ip_network("64:ff9b:1::/48"),
    ipaddress.ip_network("2002::/16"),
    ipaddress.ip_network("2001::/32"),
)
"""Networks of IPv6 whose addresses stand for one of IPv4 (NAT64, 6to4, Teredo)."""


class PrivateAddress(Failure):
    """A name that stands for an address which is not public."""

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} is not a public address", 403)


def resolve_public(host: str, port: int) -> str:
    """Return an address that a name stands for.

    Raises:
        PrivateAddress: one of its addresses is not public.
        Failure: there is none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Failure(f"{host} has no address") from None
    addresses = [str(each[4][0]) for each in found]
    if not addresses or not all(is_public(address) for address in addresses):
        raise PrivateAddress(host)
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address can be reached by everybody."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return is_public(str(parsed.ipv4_mapped))
        if any(parsed in network for network in _EMBEDDING):
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def open_pool(parts: SplitResult) -> urllib3.HTTPConnectionPool:
    """Open connections to the public address of a page's host, past any proxy. Raises Failure."""
    import urllib3

    host = parts.hostname or ""
    port = parts.port or _PORTS[parts.scheme]
    address = resolve_public(host, port)
    if parts.scheme == "http":
        return urllib3.HTTPConnectionPool(address, port)
    return urllib3.HTTPSConnectionPool(
        address,
        port,
        server_hostname=host,
        assert_hostname=host,
        ssl_context=_share_ssl_context(),
    )


@cache
def _share_ssl_context() -> ssl.SSLContext:
    """Make the context of connections with TLS, once: reading certificates takes a while."""
    from convrag.sdk.http_pools import make_ssl_context

    return make_ssl_context()
