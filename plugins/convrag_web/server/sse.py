"""Replies as server-sent events: encoding, and a response that leaves its turn however it ends.

FastAPI encodes the events; its own response is for routes that are generators. sse-starlette is not
used: it ends all streams as soon as the server is told to end, though turns have time to finish
(`task.grace`), and it watches each client a second time, next to `Guard`.
"""

from collections.abc import AsyncIterator
from typing import Any, Protocol

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from convrag_web.server.errors import describe_failure
from convrag_web.server.json_reply import JsonText, format_json_text

PING: bytes = KEEPALIVE_COMMENT
"""A comment, which clients skip; it keeps a silent connection open."""

DONE: bytes = format_sse_event(data_str="[DONE]")
"""The end of a stream in OpenAI's protocol."""

EVENTS: dict[str, Any] = {
    "response_class": StreamingResponse,
    "responses": {200: {"description": "Server-sent events", "content": {"text/event-stream": {}}}},
}
"""The OpenAPI description of a route that replies with events."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the latter for nginx


def format_event(data: Any, name: str = "") -> bytes:
    """Format an event with JSON as its data; `JsonText` is formatted already."""
    text = data if isinstance(data, JsonText) else format_json_text(data)
    event: bytes = format_sse_event(data_str=text, event=name or None)
    return event


class Leavable(Protocol):
    """A turn as a stream of events sees it."""

    async def leave(self) -> None:
        """Take note that the stream has ended."""


class TurnStream(StreamingResponse):
    """A response with the events of a turn. However it ends, the turn is left.

    Args:
        turn: the turn.
        events: its events, formatted.
    """

    media_type = "text/event-stream"

    def __init__(self, turn: Leavable, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers=_HEADERS)
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. `Guard` cancels this when the client leaves."""
        try:
            await self.stream_response(send)
        finally:
            await self._turn.leave()


async def start_stream(
    turn: Leavable, events: AsyncIterator[bytes], error_name: str = ""
) -> TurnStream:
    """Wait for the first event, and return the response that streams all of them.

    An error before the first event is raised, so that it becomes a response with its own status.
    A later error is the last event.

    Args:
        turn: the turn; it is left if waiting for the first event ends with an error.
        events: its events, formatted.
        error_name: the name of an event that is an error.
    """
    try:
        first = await anext(events)
    except BaseException:
        await turn.leave()
        raise

    async def stream() -> AsyncIterator[bytes]:
        yield first
        try:
            async for event in events:
                yield event
        except Exception as error:
            yield format_event(describe_failure(error).to_dict(), error_name)

    return TurnStream(turn, stream())
