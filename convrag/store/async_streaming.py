"""Streaming for asyncio: a thread makes an answer, and a coroutine gets its pieces."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, TypeVar

from convrag.store.cancellation import Cancellation, Cancelled

T = TypeVar("T")


class AsyncStream(Generic[T]):
    """The pieces of an answer, to iterate over once with `async for`, and then the `record` of the turn.

        stream = AsyncStream(lambda listener: pipeline.turn("id", "What is BERT?", listener=listener))
        async for piece in stream:
            print(piece, end="")
        print(stream.record)

    The turn begins with the iteration. Where the loop is left, or its task cancelled, the turn is cancelled: its calls
    end, and it is not kept.

    Args:
        answer: makes the answer in a thread of its own, and returns the record; it calls its argument with each piece.
    """

    def __init__(self, answer: Callable[[Callable[[str], None]], T]) -> None:
        self._answer = answer
        self._cancellation = Cancellation()
        self._records: list[T] = []
        self._error: BaseException | None = None
        self._begun = False

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the pieces in order. Raises what the turn raised, and RuntimeError at a second iteration."""
        if self._begun:
            raise RuntimeError("a stream can be iterated over once")
        self._begun = True
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def put(piece: str | None) -> None:
            try:
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            except RuntimeError:  # the loop is closed: nobody waits any more
                raise Cancelled from None

        def listen(piece: str) -> None:
            self._cancellation.check()
            put(piece)

        def work() -> None:
            try:
                with self._cancellation.apply():
                    self._records.append(self._answer(listen))
            except BaseException as error:
                self._error = error
            finally:
                with suppress(Cancelled):
                    put(None)

        threading.Thread(target=copy_context().run, args=(work,), name="stream", daemon=True).start()
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
        finally:
            self._cancellation.cancel()
        if self._error is not None:
            raise self._error

    @property
    def record(self) -> T:
        """The record of the turn. Raises RuntimeError before the end of the iteration."""
        if not self._records:
            raise RuntimeError("the record is there when all pieces have been read")
        return self._records[0]
