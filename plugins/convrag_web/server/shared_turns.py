"""Turns that go on when their client leaves, and whose events any number of clients may follow."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

from convrag_web.server.errors import RequestError


class SharedTurn:
    """A turn whose events are kept: each reader gets all of them, from the first on.

    Args:
        conversation: the conversation's id.
        question: the question; empty if the last one is answered again.
        events: the events of the turn, formatted.
    """

    def __init__(self, conversation: str, question: str, events: AsyncIterator[bytes]) -> None:
        self.conversation = conversation
        self.question = question
        self._events: list[bytes] = []
        self._ended = False
        self._error: Exception | None = None
        self._changed = asyncio.Event()
        self.task = asyncio.create_task(self._collect(events))

    async def read(self) -> AsyncIterator[bytes]:
        """Yield the events. Raises the error that ended the turn."""
        for place in count():
            while place == len(self._events) and not self._ended:
                await self._changed.wait()
            if place == len(self._events):
                break
            yield self._events[place]
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the turn, which is not stored."""
        self.task.cancel()

    async def leave(self) -> None:
        """Wait for the end of the turn: a server that ends waits for its responses."""
        await asyncio.wait([self.task])

    async def _collect(self, events: AsyncIterator[bytes]) -> None:
        try:
            async for event in events:
                self._events.append(event)
                self._wake_readers()
        except asyncio.CancelledError:
            message = "the turn was stopped, and is not kept"
            self._error = RequestError(409, message, code="cancelled")
        except Exception as error:
            self._error = error
        self._ended = True
        self._wake_readers()

    def _wake_readers(self) -> None:
        self._changed.set()
        self._changed.clear()


class SharedTurns:
    """The shared turns that have not ended; of a conversation, the first one is in progress."""

    def __init__(self) -> None:
        self._turns: list[SharedTurn] = []

    def add(self, conversation: str, question: str, events: AsyncIterator[bytes]) -> SharedTurn:
        """Add a turn; see `SharedTurn`."""
        turn = SharedTurn(conversation, question, events)
        self._turns.append(turn)
        turn.task.add_done_callback(lambda _: self._turns.remove(turn))
        return turn

    def find(self, conversation: str) -> SharedTurn | None:
        """Return the turn of a conversation that is in progress; None if there is none."""
        for turn in self._turns:
            if turn.conversation == conversation:
                return turn
        return None
