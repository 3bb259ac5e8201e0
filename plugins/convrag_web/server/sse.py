"""Replies as server-sent events: the events of a turn, for one client or for all who ask."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from convrag_web.server.errors import RequestError, describe_failure, encode_json
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


class SharedTurn:
    """A turn that goes on whoever leaves: who asks for its events gets all of them, from the first on.

    Args:
        conversation: its id.
        question: that is answered; empty where it is the last one, again.
        events: of the turn, formatted.
    """

    def __init__(self, conversation: str, question: str, events: AsyncIterator[bytes]) -> None:
        self.conversation = conversation
        self.question = question
        self._sent: list[bytes | Exception] = []
        self._come = asyncio.Event()
        self.task = asyncio.create_task(self._take(events))

    async def _take(self, events: AsyncIterator[bytes]) -> None:
        try:
            async for event in events:
                self._add(event)
            self._add(b"")
        except asyncio.CancelledError:
            self._add(RequestError(409, "the turn was stopped, and is not kept", code="cancelled"))
        except Exception as error:
            self._add(error)

    def _add(self, event: bytes | Exception) -> None:
        self._sent.append(event)
        self._come.set()  # for those who wait now
        self._come.clear()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the events. Raises what ended the turn."""
        for place in count():
            while place == len(self._sent):
                await self._come.wait()
            event = self._sent[place]
            if isinstance(event, Exception):
                raise event
            if not event:
                return
            yield event

    async def leave(self) -> None:
        """Wait for the end of the turn: a server that is told to end waits for its replies."""
        await asyncio.wait([self.task])


class TurnStream(StreamingResponse):
    """The events of a turn as a reply. However the reply ends, the turn is left.

    Args:
        turn: the turn.
        events: its events, formatted.
    """

    media_type = "text/event-stream"

    def __init__(self, turn: RunningTurn | SharedTurn, events: AsyncIterator[bytes]) -> None:
        super().__init__(
            events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )  # that for nginx
        self._turn = turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. `Guard` watches whether the client leaves, and cancels this: once is
        enough.
        """
        try:
            await self.stream_response(send)
        finally:
            await self._turn.leave()


async def start_stream(
    turn: RunningTurn | SharedTurn, events: AsyncIterator[bytes], error_name: str = ""
) -> TurnStream:
    """Wait for the first event, and return the reply that streams all of them.

    A later error is the last event. An earlier one is raised, so that it becomes a reply with its
    own status.

    Args:
        turn: the turn; it is left where waiting for the first event ends with an error.
        events: its events, formatted.
        error_name: name of the event that is an error.
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
