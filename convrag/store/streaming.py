"""Streaming: an LLM passes the pieces of its reply to a listener, without the help of the stages between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Generic, TypeVar

from convrag.store.values import SurrogateMender

T = TypeVar("T")

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("convrag_listener", default=None)


@contextmanager
def listen_with(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Pass the replies that LLMs give in this thread during the block to `listener`, in pieces; None turns this off."""
    mender = SurrogateMender(listener) if listener else None
    token = _listener.set(mender)
    try:
        yield
        if mender:
            mender.flush()
    finally:
        _listener.reset(token)


def current_listener() -> Callable[[str], None] | None:
    """Return the listener of this thread. An LLM that streams calls it with each piece of its reply, in order."""
    return _listener.get()


class Stream(Generic[T]):
    """The pieces of an answer, to iterate over while a thread makes it, and the `record` of the turn.

        for piece in Stream(lambda listener: pipeline.turn("id", "What is BERT?", listener=listener)):
            print(piece, end="")

    Args:
        answer: makes the answer and returns the record; it calls its argument with each piece.
    """

    def __init__(self, answer: Callable[[Callable[[str], None]], T]) -> None:
        self._pieces: SimpleQueue[str | None] = SimpleQueue()
        self._records: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(answer,), name="stream", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[str]:
        """Yield the pieces in order, once. Raises what the turn raised."""
        while (piece := self._pieces.get()) is not None:
            yield piece
        self._thread.join()
        if self._error is not None:
            raise self._error

    @property
    def record(self) -> T:
        """The record of the turn; waits for its end. Raises what the turn raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._records[0]

    def _run(self, answer: Callable[[Callable[[str], None]], T]) -> None:
        try:
            self._records.append(answer(self._pieces.put))
        except BaseException as error:
            self._error = error
        finally:
            self._pieces.put(None)
