"""Replies as server-sent events: the events of a turn, which is cancelled when the client goes away."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from convrag_web.server.errors import describe_failure, encode_json
from convrag_web.server.turn_runner import RunningTurn

PING = b": ping\n\n"
"""A comment, which clients skip and which keeps a silent connection open."""

DONE = b"data: [DONE]\n\n"
"""The end of a stream in OpenAI's protocol."""


EVENTS: dict[str, Any] = {
    "response_class": StreamingResponse,
    "responses": {200: {"description": "Server-sent events", "content": {"text/event-stream": {}}}},
}
"""What the description of a route says that replies with events."""


def format_event(data: Any, name: str = "") -> bytes:
    """An event with data in JSON, which has no line breaks."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + encode_json(data) + b"\n\n"


class TurnStream(StreamingResponse):
    """The events of a turn as a reply. However the reply ends, the turn ends with it.

    Args:
        turn: the turn.
        events: its events, formatted.
    """

    media_type = "text/event-stream"

    def __init__(self, turn: RunningTurn, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})  # that for nginx
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. `Guard` watches whether the client leaves, and cancels this: once is enough."""
        try:
            await self.stream_response(send)
        finally:
            self._turn.cancel()


async def start_stream(turn: RunningTurn, events: AsyncIterator[bytes], error_name: str = "") -> TurnStream:
    """Wait for the first event, and return the reply that streams all of them.

    A later error is the last event. An earlier one is raised, so that it becomes a reply with its own status.

    Args:
        turn: the turn; it is cancelled where waiting for the first event ends with an error.
        events: its events, formatted.
        error_name: name of the event that is an error.
    """
    try:
        first = await anext(events)
    except BaseException:
        turn.cancel()
        raise

    async def stream() -> AsyncIterator[bytes]:
        yield first
        try:
            async for event in events:
                yield event
        except Exception as error:
            yield format_event(describe_failure(error).to_dict(), error_name)

    return TurnStream(turn, stream())
