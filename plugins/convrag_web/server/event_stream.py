"""Replies as server-sent events: the events of a turn, for one client or for all who ask."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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


class TurnStream(StreamingResponse):
    """The events of a turn as a reply.

    Args:
        events: of the turn, formatted.
        on_end: is called however the reply ends.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], on_end: Callable[[], None]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})  # that for nginx
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. `Guard` watches whether the client leaves, and cancels this: once is enough."""
        try:
            await self.stream_response(send)
        finally:
            self._on_end()


async def start_stream(
    events: AsyncIterator[bytes], on_end: Callable[[], None] = lambda: None, error_name: str = ""
) -> TurnStream:
    """Wait for the first event, and return the reply that streams all of them.

    A later error is the last event. An earlier one is raised, so that it becomes a reply with its own status.

    Args:
        events: of a turn, formatted.
        on_end: is called however the reply ends, also with an error before the first event.
        error_name: name of the event that is an error.
    """
    try:
        first = await anext(events)
    except BaseException:
        on_end()
        raise

    async def stream() -> AsyncIterator[bytes]:
        yield first
        try:
            async for event in events:
                yield event
        except Exception as error:
            yield format_event(describe_failure(error).to_dict(), error_name)

    return TurnStream(stream(), on_end)


SHARED_TURN = "shared turn"
"""The name of the tasks in which such turns run."""


class SharedTurn:
    """A turn that goes on whoever leaves: who asks for its events gets all of them, from the first on.

    Args:
        conversation: its id.
        question: that is answered; None where it is the last one, again.
        starting: starts the turn. It ends early where `task` is cancelled.
        format_events: formats its events.
    """

    def __init__(
        self,
        conversation: str,
        question: str | None,
        starting: Awaitable[RunningTurn],
        format_events: Callable[[RunningTurn], AsyncIterator[bytes]],
    ) -> None:
        self.conversation = conversation
        self.question = question
        self._sent: list[bytes] = []
        self._error: Exception | None = None
        self._ended = False
        self._come = asyncio.Event()
        self.task = asyncio.create_task(self._run(starting, format_events), name=SHARED_TURN)

    async def _run(
        self, starting: Awaitable[RunningTurn], format_events: Callable[[RunningTurn], AsyncIterator[bytes]]
    ) -> None:
        turn = None
        try:
            turn = await starting
            async for event in format_events(turn):
                self._sent.append(event)
                self._wake()
        except asyncio.CancelledError:
            self._error = RequestError(409, "the turn was stopped, and is not kept", code="cancelled")
        except Exception as error:
            self._error = error
        if turn:
            turn.cancel()  # without effect where it has ended
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._come.set()  # for all who wait now
        self._come.clear()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the events. Raises what ended the turn."""
        read = 0
        while read < len(self._sent) or not self._ended:
            if read == len(self._sent):
                await self._come.wait()
            else:
                yield self._sent[read]
                read += 1
        if self._error:
            raise self._error
