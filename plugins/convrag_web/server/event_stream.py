"""Replies as server-sent events: the events of a turn, which is cancelled when the client goes away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from convrag_web.server.errors import describe_failure
from convrag_web.server.json_reply import encode_json
from convrag_web.server.turn_runner import RunningTurn

PING = b": ping\n\n"
"""A comment, which clients skip and which keeps a silent connection open."""

DONE = b"data: [DONE]\n\n"
"""The end of a stream in OpenAI's protocol."""


def format_event(data: Any, name: str = "") -> bytes:
    """An event with data in JSON, which has no line breaks."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + encode_json(data) + b"\n\n"


async def end_with_error(events: AsyncIterator[bytes], name: str = "") -> AsyncIterator[bytes]:
    """Yield the events; where they raise an error, yield that as the last one."""
    try:
        async for event in events:
            yield event
    except Exception as error:
        yield format_event(describe_failure(error).to_dict(), name)


class TurnStream(StreamingResponse):
    """The events of a turn as a reply. However the reply ends, the turn ends with it.

    Args:
        turn: the turn.
        events: its events, formatted.
        name: of the event that ends the stream with an error.
    """

    media_type = "text/event-stream"

    def __init__(self, turn: RunningTurn, events: AsyncIterator[bytes], name: str = "") -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the latter for nginx
        super().__init__(end_with_error(events, name), headers=headers)
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._turn.cancel()
