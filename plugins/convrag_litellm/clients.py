"""HTTP clients that are lent out one by one, in place of one connection pool for all threads.

With a pool of 20 idle connections, httpx's default and litellm's, 64 threads close each other's connections as they
pick them up ("Bad file descriptor", measured), and every request walks through all connections under one lock.
"""

from __future__ import annotations

import ssl
from collections import deque
from typing import Any

import httpx


class LentClients(httpx.Client):  # type: ignore[misc, unused-ignore]
    """A client that hands each request to a client of its own, with a warm connection where one is free.

    OpenAI's library and litellm want one client for everything; proxies and certificates are those of the environment.
    """

    def __init__(self) -> None:
        self._context: ssl.SSLContext = httpx.create_ssl_context()
        self._free: deque[httpx.Client] = deque()  # its append and pop are atomic: no lock
        super().__init__(verify=self._context)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send with the client that was given back last; a new one where all are out."""
        try:
            client = self._free.pop()
        except IndexError:
            client = httpx.Client(verify=self._context, follow_redirects=True)
        try:
            return client.send(request, **options)
        finally:
            self._free.append(client)  # also while its reply is still streaming: it then opens a second connection

    def close(self) -> None:
        """Close all that are free."""
        while self._free:
            self._free.pop().close()
        super().close()
