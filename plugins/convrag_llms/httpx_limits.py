"""The limits of reply_limit.py in httpx's clients, through which litellm reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx

from convrag_llms.limited_body import ENCODINGS, BadEncoding, read_limited


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
    request.headers["accept-encoding"] = ENCODINGS


def _limit_body(response: httpx.Response) -> None:
    """Let a response be read through a limit. What is read is decompressed there, since httpx does so without one."""
    stream = response.stream
    assert isinstance(stream, httpx.SyncByteStream)
    response.stream = _LimitedBody(stream, response)
    response.headers.pop("content-encoding", None)


class _LimitedBody(httpx.SyncByteStream):  # type: ignore[misc, unused-ignore]
    """The body of a response as `read_limited` reads it.

    Args:
        stream: the bytes as they arrive.
        response: whose headers and status tell the encoding and the limit.
    """

    def __init__(self, stream: httpx.SyncByteStream, response: httpx.Response) -> None:
        self._stream = stream
        self._pieces = read_limited(stream, dict(response.headers), response.status_code)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._pieces
        except BadEncoding as error:
            raise httpx.DecodingError(str(error)) from error

    def close(self) -> None:
        self._stream.close()
