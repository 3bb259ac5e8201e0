"""Collects what several threads send, so that one request carries it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

from convrag.sdk.cancellation import release_slot

A = TypeVar("A")
R = TypeVar("R")


class Batcher(Generic[A, R]):
    """Collects the items of several threads, and sends them together.

    The first thread waits for the others, and sends the batch for all. There is no background
    thread, and nobody holds a lock while waiting: the thread that sends a batch answers every item
    of it, or passes its own error on to the others.

    Args:
        send: items -> a result, or an error, for each, in the same order.
        window: seconds that the first thread waits.
        max_size: a batch of so many items is sent at once; the items of one call stay together.
    """

    def __init__(
        self, send: Callable[[Sequence[A]], Sequence[R | Exception]], window: float, max_size: int
    ) -> None:
        self._send = send
        self._window = window
        self._max_size = max_size
        self._lock = threading.Lock()
        self._open: _Batch[A, R] | None = None

    def submit(self, items: Sequence[A]) -> list[R]:
        """Send items, and return their results in the same order.

        Raises the error of the first item that has one.
        """
        futures: list[Future[R]] = [Future() for _ in items]
        with self._lock:
            is_first = self._open is None
            if self._open is None:
                self._open = _Batch([], threading.Event())
            batch = self._open
            batch.items.extend(zip(items, futures, strict=True))
            if len(batch.items) >= self._max_size:
                self._open = None
                batch.full.set()
        if is_first:
            self._send_batch(batch)
        with release_slot():
            return [future.result() for future in futures]

    def _send_batch(self, batch: _Batch[A, R]) -> None:
        """Wait for other threads, send, and set the results.

        An interruption reaches the others as an error.
        """
        try:
            batch.full.wait(self._window)
            self._close(batch)
            results: Sequence[R | BaseException] = self._send([item for item, _ in batch.items])
        except BaseException as error:
            self._close(batch)
            results = [error] * len(batch.items)
        for (_, future), result in zip(batch.items, results, strict=True):
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _close(self, batch: _Batch[A, R]) -> None:
        """Admit no further items."""
        with self._lock:
            if self._open is batch:
                self._open = None


class _Batch(NamedTuple, Generic[A, R]):
    """Items that are sent together, with a future for the result of each."""

    items: list[tuple[A, Future[R]]]
    full: threading.Event
