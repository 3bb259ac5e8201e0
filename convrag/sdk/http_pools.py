"""Pools of connections to servers: the environment's proxy, and the certificates to trust."""

import os
import ssl
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import urllib3

MAX_IDLE = 512
"""Connections to a server that are kept open: one for each thread that asks at the same time."""


class HostPools:
    """A pool of connections to each host; threads share them, and a forked process has its own."""

    def __init__(self) -> None:
        self._pools: dict[tuple[int, str], urllib3.PoolManager] = {}

    def find(self, url: str) -> urllib3.PoolManager:
        """Find the pool for an address, or make it."""
        parts = urlsplit(url)
        key = (os.getpid(), f"{parts.scheme}://{parts.netloc}")
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools.setdefault(key, self.make_pool(parts.scheme, parts.hostname or ""))
        return pool

    def make_pool(self, scheme: str, host: str) -> urllib3.PoolManager:
        """Make the pool of a host, through the environment's proxy if there is one."""
        options: dict[str, Any] = {"maxsize": MAX_IDLE}
        if scheme == "https":
            options["ssl_context"] = self.make_ssl_context()
        proxies = getproxies()
        proxy = proxies.get(scheme) or proxies.get("all")
        if proxy and not proxy_bypass(host):
            return _make_proxy_pool(proxy, options)
        return urllib3.PoolManager(**options)

    def make_ssl_context(self) -> ssl.SSLContext:
        """Make the context of connections with TLS, of which there is one for each host."""
        return make_ssl_context()

    def clear(self) -> None:
        """Forget all pools, as when the environment's proxy has changed."""
        self._pools.clear()


def make_ssl_context() -> ssl.SSLContext:
    """Make the context of connections with TLS, with the certificates to trust.

    They are those of SSL_CERT_FILE or SSL_CERT_DIR, else the system's and certifi's.
    """
    context = ssl.create_default_context()  # which reads SSL_CERT_FILE and SSL_CERT_DIR
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        context.load_verify_locations(certifi.where())
    return context


def _make_proxy_pool(proxy: str, options: dict[str, Any]) -> urllib3.PoolManager:
    """Make a pool of connections through a proxy, whose address may name a user."""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    user, _, host = parts.netloc.rpartition("@")
    headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
    return urllib3.ProxyManager(f"{parts.scheme}://{host}", proxy_headers=headers, **options)
