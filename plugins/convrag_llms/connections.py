"""Connections to servers that stay open, for many threads at a time: urllib3, with our deadlines
and cancellations.

The timeout of an HTTP client counts anew with every byte, so that slow replies never end, and it
knows no cancellation. So each read and write of a socket looks at the `deadline` of its thread, and
ends when the thread's calls are cancelled. `llm=openai_compatible` sends its requests here, and so
do the clients of litellm (_litellm.py).
"""

import logging
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from convrag.sdk.cancellation import check_cancelled, when_cancelled
from convrag.sdk.secrets import redact
from convrag_llms.reply import (
    MAX_REPLY_BYTES,
    ConnectionFailed,
    ConnectionRefused,
    HttpError,
    ReplyTooLong,
    UntrustedServer,
    list_causes,
)

MAX_STREAM_BYTES = 64 * 2**20
"""The longest streamed reply: servers send some 300 bytes with each token."""

MAX_ERROR_BYTES = 64 * 2**10
"""How much of an error page is read; the rest of it is ignored."""

_MAX_IDLE = 512  # connections that are kept open: one for each thread that asks at the same time
_DRAIN_SECONDS = 0.2
_PIECE_BYTES = 2**16
_STREAMED = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_HEADERS = {"accept-encoding": "gzip, deflate", "user-agent": "convrag"}
# call.py repeats requests; a redirect to another host is not sent a key.
_KEYS = urllib3.Retry.DEFAULT_REMOVE_HEADERS_ON_REDIRECT | {
    "x-api-key",
    "api-key",
    "x-goog-api-key",
}
_RETRIES = urllib3.Retry(
    total=None, connect=0, read=0, status=0, other=0, redirect=5, remove_headers_on_redirect=_KEYS
)
_thread = threading.local()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let the reads of this thread from HTTP servers end once so many seconds have passed.

    Of one block within another, the earlier end counts.
    """
    outer: float | None = getattr(_thread, "end", None)
    end = time.monotonic() + seconds
    _thread.end = end if outer is None else min(end, outer)
    try:
        yield
    finally:
        _thread.end = outer


def _remaining_seconds() -> float | None:
    end: float | None = getattr(_thread, "end", None)
    return None if end is None else end - time.monotonic()


class Response:
    """The response to a request. Whoever gets it closes it: the connection is kept if it was read to its end.

    Args:
        response: urllib3's; nothing of its body is read yet.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    def read_pieces(self, most: int | None = None) -> Iterator[bytes]:
        """Yield the body as it arrives, decompressed. The body of an error is cut at its limit.

        Args:
            most: bytes of a file, which may have more than a reply.

        Raises:
            HttpError: 408, at the deadline; 502, where it cannot be decompressed.
            ConnectionFailed: the connection broke off.
            ReplyTooLong: the body of a reply is longer than the limit.
        """
        is_error = self.status >= 400
        is_streamed = self.headers.get("content-type", "").strip().lower().startswith(_STREAMED)
        limit = (
            MAX_ERROR_BYTES
            if is_error
            else most or (MAX_STREAM_BYTES if is_streamed else MAX_REPLY_BYTES)
        )
        remaining = limit
        while remaining >= 0:
            with _our_errors():
                piece = self._response.read1(_PIECE_BYTES, decode_content=True)
            if not piece:
                return
            if len(piece) > remaining and not is_error:
                raise ReplyTooLong(limit)
            yield piece[:remaining]
            remaining -= len(piece)

    def drain(self) -> None:
        """Read to the end, so that the connection can be used again; without success if that takes
        long.
        """
        with deadline(_DRAIN_SECONDS), suppress(Exception):
            for _ in self.read_pieces():
                pass

    def close(self) -> None:
        """Give the connection back, or close it where the body was not read to its end."""
        if not self._response.closed:
            self._response.close()
        self._response.release_conn()


class Connections:
    """The connections of a process to the servers that it asks; threads share them.

    Proxies and certificates come from the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE), else
    the system's and certifi's.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[int, str], urllib3.PoolManager] = {}

    def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a request, within the deadline of this thread, and get its response.

        Args:
            method: such as POST.
            url: without user and password.
            body: of the request.
            headers: of the request, with names in lower case.

        Raises:
            HttpError: 408, at the deadline.
            ConnectionFailed: there is no connection, or it broke off.
            UntrustedServer: its certificate is not trusted.
        """
        if (remaining := _remaining_seconds()) is not None and remaining <= 0:
            raise HttpError(408, "the deadline passed before the request was sent")
        timeout = urllib3.Timeout(connect=remaining, read=None)
        with _our_errors():
            response = self._find_pool(url).urlopen(
                method,
                url,
                body=body,
                headers={**headers, **_HEADERS},
                retries=_RETRIES,
                timeout=timeout,
                preload_content=False,
            )
        return Response(response)

    def _find_pool(self, url: str) -> urllib3.PoolManager:
        """Find the pool for an address, or make it; a forked process has pools of its own."""
        parts = urlsplit(url)
        key = (os.getpid(), f"{parts.scheme}://{parts.netloc}")
        if (pool := self._pools.get(key)) is None:
            pool = self._pools.setdefault(key, _make_pool(parts.scheme, parts.hostname or ""))
        return pool


def _make_pool(scheme: str, host: str) -> urllib3.PoolManager:
    options: dict[str, Any] = {"maxsize": _MAX_IDLE}
    if scheme == "https":
        options["ssl_context"] = context = (
            ssl.create_default_context()
        )  # which reads SSL_CERT_FILE and SSL_CERT_DIR
        context.sslsocket_class = _TlsSocket
        if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
            context.load_verify_locations(certifi.where())
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if proxy and not proxy_bypass(host):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        user, _, place = parts.netloc.rpartition("@")
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        pool: urllib3.PoolManager = urllib3.ProxyManager(
            f"{parts.scheme}://{place}", proxy_headers=headers, **options
        )
    else:
        pool = urllib3.PoolManager(**options)
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": HTTPSConnectionPool}
    return pool


@contextmanager
def _our_errors() -> Iterator[None]:
    """Turn urllib3's errors into ours."""
    try:
        yield
    except urllib3.exceptions.HTTPError as error:
        cause: Any = error
        while inner := getattr(cause, "reason", None) or getattr(cause, "original_error", None):
            if not isinstance(inner, Exception):
                break
            cause = inner
        failed = isinstance(
            cause, urllib3.exceptions.NewConnectionError
        )  # to urllib3, that is a timeout too
        if isinstance(cause, urllib3.exceptions.TimeoutError | TimeoutError) and not failed:
            raise HttpError(408, "it did not reply in time") from None
        if isinstance(cause, urllib3.exceptions.DecodeError):
            raise HttpError(502, f"what it sent cannot be decompressed: {cause.args[0]}") from None
        if isinstance(cause, urllib3.exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(
            cause
        ):
            raise UntrustedServer(str(cause)) from None
        failure = ConnectionFailed
        if any(isinstance(each, ConnectionRefusedError) for each in list_causes(error)):
            failure = ConnectionRefused
        said = str(
            cause.args[-1] if cause.args else cause
        )  # ("Connection aborted.", ConnectionResetError(...))
        raise failure(
            re.sub(r"^\w+\(.*?\): ", "", said)
        ) from None  # HTTPConnection(host='...', port=80):


class _Guarded:
    """What a socket does to keep to the deadline and the cancellation of the thread that reads or writes."""

    def recv_into(self: Any, *args: Any) -> int:
        with _guard(self):
            count: int = super().recv_into(*args)  # type: ignore[misc]
        return count

    def sendall(self: Any, *args: Any) -> None:
        with _guard(self):
            super().sendall(*args)  # type: ignore[misc]


class _PlainSocket(_Guarded, socket.socket):
    pass


class _TlsSocket(_Guarded, ssl.SSLSocket):
    pass


@contextmanager
def _guard(connection: socket.socket) -> Iterator[None]:
    """Read or write within the block. Raises TimeoutError and Cancelled."""

    def shut_down() -> None:
        with suppress(OSError):  # it is closed already
            socket.socket.shutdown(
                connection, socket.SHUT_RDWR
            )  # a TLS socket's own is for its thread alone

    if (remaining := _remaining_seconds()) is not None:
        if remaining <= 0:
            raise TimeoutError("the deadline for the whole reply has passed")
        connection.settimeout(remaining)
    try:
        with when_cancelled(shut_down):
            yield
    finally:
        check_cancelled()


class _PlainConnection(HTTPConnection):  # type: ignore[misc, unused-ignore]
    sock: Any

    def connect(self) -> None:
        super().connect()
        seconds = self.sock.gettimeout()
        self.sock = _PlainSocket(fileno=self.sock.detach())
        self.sock.settimeout(seconds)


class _PlainPool(HTTPConnectionPool):  # type: ignore[misc, unused-ignore]
    ConnectionCls = _PlainConnection


class RedactingFilter(logging.Filter):
    """Redacts a library's log lines, and drops those that were logged before."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record in place; False for a line that was logged before."""
        record.msg, record.args = redact(record.getMessage()), ()
        record.exc_info = record.exc_text = None  # a traceback repeats the message, unredacted
        new = record.msg not in self._logged
        self._logged.add(record.msg)
        return new


def quieten(*names: str) -> None:
    """Let these loggers pass on warnings alone, redacted: below that they log addresses and
    headers, with keys.
    """
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)
        logging.getLogger(name).addFilter(RedactingFilter())


quieten("urllib3.connectionpool", "urllib3.util.retry")
CONNECTIONS = Connections()
