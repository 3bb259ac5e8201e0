"""An HTTP client for many threads, in place of one connection pool for all of them.

With a pool of 20 idle connections, httpx's default and litellm's, 64 threads close each other's connections as they
pick them up ("Bad file descriptor", measured), and every request walks through all connections under one lock.
"""

from __future__ import annotations

import ssl
from collections import deque
from typing import Any

import httpx

from convrag_llms.httpx_limits import make_event_hooks


class PooledClient(httpx.Client):  # type: ignore[misc, unused-ignore]
    """A client that gives each request to a client of its own, taken from a pool: its connection may still be open.

    OpenAI's library and litellm take one client for everything, which this is to them. Proxies and certificates are
    those of the environment.
    """

    def __init__(self) -> None:
        self._context: ssl.SSLContext = httpx.create_ssl_context()
        self._idle: deque[httpx.Client] = deque()  # its append and pop are atomic: no lock
        super().__init__(verify=self._context)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send with the client that became idle last, or with a new one where none is idle."""
        try:
            client = self._idle.pop()
        except IndexError:
            client = httpx.Client(verify=self._context, follow_redirects=True, event_hooks=make_event_hooks())
        try:
            return client.send(request, **options)
        finally:
            self._idle.append(client)  # also while its reply is still streaming: it then opens a second connection

    def close(self) -> None:
        """Close all idle clients."""
        while self._idle:
            self._idle.pop().close()
        super().close()
