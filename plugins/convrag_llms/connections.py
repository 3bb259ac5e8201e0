"""Connections to a server that stay open, for many threads at a time: urllib3, with our deadlines and cancellations."""

from __future__ import annotations

import io
import logging
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from convrag_llms.deadline import deadline, remaining_seconds, until_cancelled
from convrag_llms.http_errors import ConnectionFailed, HttpError, UntrustedServer
from convrag_llms.limited_body import ENCODINGS, read_limited
from convrag_llms.redaction import RedactingFilter

MAX_IDLE = 512
"""Connections that are kept open: one for each thread that asks at the same time."""

DRAIN_SECONDS = 0.2
"""How long the end of a body is waited for once its contents are there; a connection without it is closed."""

_PIECE_BYTES = 2**16
_RETRIES = urllib3.Retry(total=None, connect=0, read=0, status=0, other=0, redirect=5)  # those are counted elsewhere
_PLACE = re.compile(r"^\w+\(.*?\): ")
"""What urllib3 puts before its messages: "HTTPConnection(host='localhost', port=8000): "."""


for _name in ("urllib3.connectionpool", "urllib3.util.retry"):  # their debug lines have queries, which may hold keys
    logging.getLogger(_name).setLevel(logging.WARNING)
    logging.getLogger(_name).addFilter(RedactingFilter())


class Response:
    """The response to a request.

    Args:
        response: urllib3's, of which nothing is read yet.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    def read_pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives, decompressed. Raises HttpError, ConnectionFailed, ReplyTooLong, BadEncoding."""
        return read_limited(self._read(), self.headers, self.status)

    def drain(self) -> None:
        """Read to the end, so that the connection can be used again; without success if that takes long."""
        with deadline(DRAIN_SECONDS), suppress(Exception):
            for _ in self.read_pieces():
                pass

    def _read(self) -> Iterator[bytes]:
        with _explained():
            while piece := self._response.read1(_PIECE_BYTES, decode_content=False):
                yield piece


class Connections:
    """The connections of a process to the servers that it asks; threads share them.

    Proxies and certificates are those of the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE), else the system's and
    certifi's.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[int, str], urllib3.PoolManager] = {}

    @contextmanager
    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Iterator[Response]:
        """Send a request, within the deadline of this thread, and get its response.

        The connection is kept if the block reads the response to its end; otherwise it is closed.

        Args:
            url: without user and password.
            body: of the request.
            headers: of the request, besides those of a body.

        Raises:
            HttpError: 408, at the deadline.
            ConnectionFailed: there is no connection, or it broke off.
            UntrustedServer: its certificate is not trusted.
        """
        timeout = urllib3.Timeout(connect=remaining_seconds(), read=None)
        with _explained():
            response = self._find_pool(url).urlopen(
                "POST",
                url,
                body=body,
                headers={"Accept-Encoding": ENCODINGS, "User-Agent": "convrag", **headers},
                retries=_RETRIES,
                timeout=timeout,
                preload_content=False,
            )
        try:
            yield Response(response)
        finally:
            if not response.closed:
                response.close()
            response.release_conn()

    def _find_pool(self, url: str) -> urllib3.PoolManager:
        """Find the pool for an address, or make it; a forked process has pools of its own."""
        parts = urlsplit(url)
        key = (os.getpid(), f"{parts.scheme}://{parts.netloc}")
        if (pool := self._pools.get(key)) is None:
            pool = self._pools.setdefault(key, _make_pool(parts.scheme, parts.hostname or ""))
        return pool


def _make_pool(scheme: str, host: str) -> urllib3.PoolManager:
    options: dict[str, Any] = {"maxsize": MAX_IDLE}
    if scheme == "https":
        options["ssl_context"] = _make_ssl_context()
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if proxy and not proxy_bypass(host):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        user = f"{parts.username or ''}:{parts.password or ''}" if parts.username else None
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        pool: urllib3.PoolManager = urllib3.ProxyManager(bare, proxy_headers=headers, **options)
    else:
        pool = urllib3.PoolManager(**options)
    pool.pool_classes_by_scheme = {"http": _GuardedHttpPool, "https": _GuardedHttpsPool}
    return pool


def _make_ssl_context() -> ssl.SSLContext:
    context = ssl.create_default_context()  # which reads SSL_CERT_FILE and SSL_CERT_DIR
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        with suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context


@contextmanager
def _explained() -> Iterator[None]:
    """Turn urllib3's errors into ours."""
    try:
        yield
    except urllib3.exceptions.HTTPError as error:
        cause: BaseException = error
        while isinstance(cause, urllib3.exceptions.MaxRetryError | urllib3.exceptions.ProxyError):
            inner = cause.reason if isinstance(cause, urllib3.exceptions.MaxRetryError) else cause.original_error
            if inner is None:
                break
            cause = inner
        if isinstance(cause, urllib3.exceptions.TimeoutError | TimeoutError):
            raise HttpError(408, "it did not reply in time") from None
        if isinstance(cause, urllib3.exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(cause):
            raise UntrustedServer(str(cause)) from None
        raise ConnectionFailed(_describe(cause)) from None


def _describe(error: BaseException) -> str:
    """What an error of urllib3 says, without the name of the object that says it."""
    if len(error.args) == 2 and isinstance(error.args[1], BaseException):
        return f"{error.args[0]} {error.args[1]}"  # ("Connection aborted.", ConnectionResetError(...))
    return _PLACE.sub("", str(error))


class _GuardedSocket:
    """A connected socket whose reads and writes keep to the deadline and the cancellation of their thread."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._socket: socket.socket = connection if isinstance(connection, socket.socket) else connection.socket

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def fileno(self) -> int:
        return self._socket.fileno()

    def sendall(self, data: Any) -> None:
        with self.guard():
            self._connection.sendall(data)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_GuardedReader(self._connection.makefile("rb", buffering=0), self))

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Read or write within the block. Raises TimeoutError and Cancelled."""
        if (remaining := remaining_seconds()) is not None:
            if remaining <= 0:
                raise TimeoutError("the deadline for the whole reply has passed")
            self._connection.settimeout(remaining)
        with until_cancelled(self._socket):
            yield


class _GuardedReader(io.RawIOBase):
    def __init__(self, raw: Any, guarded: _GuardedSocket) -> None:
        self._raw = raw
        self._guarded = guarded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        with self._guarded.guard():
            count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _GuardedHttp(HTTPConnection):  # type: ignore[misc, unused-ignore]
    sock: Any

    def connect(self) -> None:
        super().connect()
        self.sock = _GuardedSocket(self.sock)


class _GuardedHttps(HTTPSConnection):  # type: ignore[misc, unused-ignore]
    sock: Any

    def connect(self) -> None:
        super().connect()
        self.sock = _GuardedSocket(self.sock)


class _GuardedHttpPool(HTTPConnectionPool):  # type: ignore[misc, unused-ignore]
    ConnectionCls = _GuardedHttp


class _GuardedHttpsPool(HTTPSConnectionPool):  # type: ignore[misc, unused-ignore]
    ConnectionCls = _GuardedHttps
