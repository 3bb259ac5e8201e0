"""Pieces of an answer on their way to whoever listens, while the stages between know nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("convrag_listener", default=None)


@contextmanager
def listening(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Hand the pieces of what an LLM writes in this thread meanwhile to `listener`; None listens to nothing."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current_listener() -> Callable[[str], None] | None:
    """Who listens in this thread. An LLM that can stream calls it with each piece of its reply, in order."""
    return _listener.get()


class Stream(Generic[T]):
    """Iterates over the pieces of an answer while the turn that makes it goes on; `record` is what comes of it.

    Args:
        turn: makes the answer, calling its argument with each piece.
    """

    def __init__(self, turn: Callable[[Callable[[str], None]], T]) -> None:
        self._pieces: SimpleQueue[str | None] = SimpleQueue()
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(turn,), name="stream", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[str]:
        """The pieces, in order, once. Raises what the turn raised."""
        while (piece := self._pieces.get()) is not None:
            yield piece
        self._thread.join()
        if self._error is not None:
            raise self._error

    @property
    def record(self) -> T:
        """What the turn came to; waits for its end. Raises what the turn raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._outcome[0]

    def _run(self, turn: Callable[[Callable[[str], None]], T]) -> None:
        try:
            self._outcome.append(turn(self._pieces.put))
        except BaseException as error:
            self._error = error
        finally:
            self._pieces.put(None)
