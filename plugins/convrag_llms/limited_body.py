"""Reads the body of a response within the limits of reply_limit.py, decompressing it piece by piece."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping

from convrag_llms.reply_limit import MAX_ERROR_BYTES, MAX_REPLY_BYTES, MAX_STREAM_BYTES, ReplyTooLong

ENCODINGS = "gzip, deflate"
"""The encodings to ask for (Accept-Encoding); others cannot be decompressed within a limit."""

_PIECE_BYTES = 2**16
_STREAMED = ("text/event-stream", "application/x-ndjson", "application/jsonl")


class BadEncoding(Exception):
    """The body cannot be decompressed."""

    status_code = 502


def read_limited(pieces: Iterable[bytes], headers: Mapping[str, str], status: int) -> Iterator[bytes]:
    """Yield the body of a response, decompressed: an error's is cut at the limit, any other raises ReplyTooLong there.

    Args:
        pieces: the bytes as they arrive.
        headers: of the response, with names in any case.
        status: of the response.

    Raises:
        ReplyTooLong: the body is longer than the limit.
        BadEncoding: it is damaged, or has an encoding that was not asked for.
    """
    is_error = status >= 400
    is_streamed = headers.get("content-type", "").strip().lower().startswith(_STREAMED)
    limit = MAX_ERROR_BYTES if is_error else MAX_STREAM_BYTES if is_streamed else MAX_REPLY_BYTES
    remaining = limit
    for piece in _decompress(pieces, headers.get("content-encoding", "identity").strip().lower()):
        if len(piece) > remaining and not is_error:
            raise ReplyTooLong(limit)
        yield piece[:remaining]
        remaining -= len(piece)
        if remaining < 0:
            return


def _decompress(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the body in pieces of bounded size."""
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BadEncoding(f"the server sent content-encoding {encoding!r}, and was asked for gzip")
    try:
        yield from _inflate(pieces)
    except zlib.error as error:
        raise BadEncoding(f"the server's gzip data are damaged: {error}") from error


def _inflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress gzip, zlib, and the raw deflate that some servers send in its place."""
    decoder = zlib.decompressobj(32 + zlib.MAX_WBITS)
    is_first = True
    for data in pieces:
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
