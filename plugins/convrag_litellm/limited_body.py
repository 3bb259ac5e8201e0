"""Reads the bodies of responses through the limits of reply_limit.py, in httpx's clients."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from convrag_litellm.reply_limit import MAX_ERROR_BYTES, MAX_REPLY_BYTES, MAX_STREAM_BYTES, ReplyTooLong

_PIECE_BYTES = 2**16
_STREAMED = ("text/event-stream", "application/x-ndjson", "application/jsonl")
_ASKED_FOR = "gzip, deflate"


def make_event_hooks() -> dict[str, list[Callable[..., Any]]]:
    """Make the hooks by which an httpx client reads no more of a response than the limits allow."""
    return {"request": [_ask_for_known_encodings], "response": [_limit_body]}


def limit_other_clients() -> None:
    """Give these hooks to the httpx clients that litellm makes itself: for every provider but OpenAI and its like."""
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    prepare = HTTPHandler.__init__

    def prepare_with_limit(self: Any, *args: Any, **options: Any) -> None:
        prepare(self, *args, **options)
        self.client.event_hooks = make_event_hooks()

    HTTPHandler.__init__ = prepare_with_limit  # type: ignore[method-assign, unused-ignore]
    if (create := getattr(HTTPHandler, "create_client", None)) is None:
        return  # older versions have one client for good

    def create_with_limit(self: Any) -> httpx.Client:
        client: httpx.Client = create(self)
        client.event_hooks = make_event_hooks()
        return client

    HTTPHandler.create_client = create_with_limit  # type: ignore[method-assign, unused-ignore]


def _ask_for_known_encodings(request: httpx.Request) -> None:
    request.headers["accept-encoding"] = _ASKED_FOR


def _limit_body(response: httpx.Response) -> None:
    """Let a response be read through a limit. What is read is decompressed here, since httpx does so without one."""
    stream = response.stream
    assert isinstance(stream, httpx.SyncByteStream)
    response.stream = _LimitedBody(stream, response)
    response.headers.pop("content-encoding", None)


class _LimitedBody(httpx.SyncByteStream):  # type: ignore[misc, unused-ignore]
    """The body of a response, decompressed: an error's is cut at the limit, any other raises ReplyTooLong there.

    Args:
        stream: the bytes as they arrive.
        response: whose headers and status tell the encoding and the limit.
    """

    def __init__(self, stream: httpx.SyncByteStream, response: httpx.Response) -> None:
        self._stream = stream
        self._encoding = response.headers.get("content-encoding", "identity").strip().lower()
        self._is_error = response.status_code >= 400
        is_streamed = response.headers.get("content-type", "").strip().lower().startswith(_STREAMED)
        self._limit = MAX_ERROR_BYTES if self._is_error else MAX_STREAM_BYTES if is_streamed else MAX_REPLY_BYTES

    def __iter__(self) -> Iterator[bytes]:
        remaining = self._limit
        for piece in self._decompress():
            if len(piece) > remaining and not self._is_error:
                raise ReplyTooLong(self._limit)
            yield piece[:remaining]
            remaining -= len(piece)
            if remaining < 0:
                return

    def close(self) -> None:
        self._stream.close()

    def _decompress(self) -> Iterator[bytes]:
        """Yield the body in pieces of bounded size."""
        if self._encoding in ("", "identity"):
            yield from self._stream
            return
        if self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise httpx.DecodingError(f"the server sent content-encoding {self._encoding!r}, and was asked for gzip")
        try:
            yield from _inflate(self._stream)
        except zlib.error as error:
            raise httpx.DecodingError(f"the server's gzip data are damaged: {error}") from error


def _inflate(stream: httpx.SyncByteStream) -> Iterator[bytes]:
    """Decompress gzip, zlib, and the raw deflate that some servers send in its place."""
    decoder = zlib.decompressobj(32 + zlib.MAX_WBITS)
    is_first = True
    for data in stream:
        try:
            piece = decoder.decompress(data, _PIECE_BYTES)
        except zlib.error:
            if not is_first:
                raise
            decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            piece = decoder.decompress(data, _PIECE_BYTES)
        is_first = False
        yield piece
        while decoder.unconsumed_tail:
            yield decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES)
    while piece := decoder.decompress(decoder.unconsumed_tail, _PIECE_BYTES):
        yield piece
