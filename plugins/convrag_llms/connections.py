"""Connections to servers that stay open, for many threads at a time.

urllib3 keeps them; deadlines.py adds our deadlines and cancellation. `llm=openai_compatible` sends
its requests here, and so do the clients of litellm (litellm_transport.py).
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import urllib3
from urllib3 import exceptions
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from convrag.sdk.http_pools import HostPools
from convrag_llms.deadlines import PlainSocket, TlsSocket, deadline, find_remaining_seconds
from convrag_llms.endpoint import CONVRAG_HEADER
from convrag_llms.errors import (
    MAX_REPLY_BYTES,
    AskedConvrag,
    ConnectionFailed,
    ConnectionRefused,
    HttpError,
    ReplyTooLong,
    UntrustedServer,
    list_causes,
)
from convrag_llms.redacted_logs import quieten

MAX_STREAM_BYTES = 64 * 2**20
"""The longest streamed reply: servers send some 300 bytes with each token."""

MAX_ERROR_BYTES = 64 * 2**10
"""The part of an error page that is read; the rest of it is ignored."""

_DRAIN_SECONDS = 0.2
"""Seconds for reading the rest of a response, so that its connection can be used again."""

_PIECE_BYTES = 2**16
_STREAMED = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_HEADERS = {"accept-encoding": "gzip, deflate", "user-agent": "convrag"}

# call.py repeats requests; a redirect to another host is not sent a key.
_KEY_HEADERS = frozenset({"x-api-key", "api-key", "x-goog-api-key"})
_RETRIES = urllib3.Retry(
    total=None,
    connect=0,
    read=0,
    status=0,
    other=0,
    redirect=5,
    remove_headers_on_redirect=urllib3.Retry.DEFAULT_REMOVE_HEADERS_ON_REDIRECT | _KEY_HEADERS,
)


class Response:
    """The response to a request, which the caller closes.

    Its connection is used again if the body was read to its end.

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
            most: the most bytes of a file, which may be longer than a reply; None for a reply.

        Raises:
            HttpError: 408, at the deadline; 502, where the body cannot be decompressed.
            ConnectionFailed: the connection broke off.
            ReplyTooLong: the body of a reply is longer than the limit.
        """
        limit = self._find_limit(most)
        remaining = limit
        while remaining >= 0:
            with _translate_errors():
                piece = self._response.read1(_PIECE_BYTES, decode_content=True)
            if not piece:
                return
            if len(piece) > remaining and not self._is_error:
                raise ReplyTooLong(limit)
            yield piece[:remaining]
            remaining -= len(piece)

    @property
    def _is_error(self) -> bool:
        status: int = self.status
        return status >= 400

    def _find_limit(self, most: int | None) -> int:
        """Find the most bytes that are read of the body."""
        if self._is_error:
            return MAX_ERROR_BYTES
        if most is not None:
            return most
        content_type = self.headers.get("content-type", "").strip().lower()
        return MAX_STREAM_BYTES if content_type.startswith(_STREAMED) else MAX_REPLY_BYTES

    def drain(self) -> None:
        """Read to the end, so that the connection can be used again; give up if that takes long."""
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
        self._pools = _DeadlinePools()

    def send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a request, within the deadline of this thread, and get its response.

        Args:
            method: such as POST.
            url: without user and password.
            body: of the request; empty for none.
            headers: of the request, with names in lower case.

        Raises:
            HttpError: 408, at the deadline.
            ConnectionFailed: there is no connection, or it broke off.
            UntrustedServer: its certificate is not trusted.
            AskedConvrag: it is a server of convrag.
        """
        remaining = find_remaining_seconds()
        if remaining is not None and remaining <= 0:
            raise HttpError(408, "the deadline passed before the request was sent")
        timeout = urllib3.Timeout(connect=remaining, read=None)
        with _translate_errors():
            response = self._pools.find(url).urlopen(
                method,
                url,
                body=body,
                headers={**headers, **_HEADERS},
                retries=_RETRIES,
                timeout=timeout,
                preload_content=False,
            )
        if CONVRAG_HEADER in response.headers:
            response.close()
            raise AskedConvrag("convrag's own server answered")
        return Response(response)


class _DeadlinePools(HostPools):
    """Pools whose sockets keep to the deadline of the thread."""

    def make_pool(self, scheme: str, host: str) -> urllib3.PoolManager:
        pool = super().make_pool(scheme, host)
        pool.pool_classes_by_scheme = {"http": _PlainPool, "https": HTTPSConnectionPool}
        return pool

    def make_ssl_context(self) -> ssl.SSLContext:
        context = super().make_ssl_context()
        context.sslsocket_class = TlsSocket
        return context


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise our errors in place of urllib3's."""
    try:
        yield
    except exceptions.HTTPError as error:
        raise _translate(error) from None


def _translate(error: exceptions.HTTPError) -> Exception:
    cause = _find_cause(error)
    # To urllib3, a connection that could not be made is a timeout, too.
    is_new_connection = isinstance(cause, exceptions.NewConnectionError)
    is_timeout = isinstance(cause, exceptions.TimeoutError | TimeoutError)
    if is_timeout and not is_new_connection:
        return HttpError(408, "it did not reply in time")
    if isinstance(cause, exceptions.DecodeError):
        return HttpError(502, f"what it sent cannot be decompressed: {cause.args[0]}")
    if isinstance(cause, exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(cause):
        return UntrustedServer(str(cause))
    # The arguments may be ("Connection aborted.", ConnectionResetError(...)).
    message = str(cause.args[-1] if cause.args else cause)
    # The message may begin with HTTPConnection(host='...', port=80).
    message = re.sub(r"^\w+\(.*?\): ", "", message)
    if any(isinstance(each, ConnectionRefusedError) for each in list_causes(error)):
        return ConnectionRefused(message)
    return ConnectionFailed(message)


def _find_cause(error: Exception) -> Exception:
    """Find the innermost error that urllib3 wrapped."""
    while True:
        inner = getattr(error, "reason", None) or getattr(error, "original_error", None)
        if not isinstance(inner, Exception):
            return error
        error = inner


class _PlainConnection(HTTPConnection):  # type: ignore[misc, unused-ignore]
    """A connection without TLS whose socket keeps to the deadline."""

    sock: Any

    def connect(self) -> None:
        super().connect()
        seconds = self.sock.gettimeout()
        self.sock = PlainSocket(fileno=self.sock.detach())
        self.sock.settimeout(seconds)


class _PlainPool(HTTPConnectionPool):  # type: ignore[misc, unused-ignore]
    ConnectionCls = _PlainConnection


quieten("urllib3.connectionpool", "urllib3.util.retry")
CONNECTIONS = Connections()
"""The connections of this process."""
