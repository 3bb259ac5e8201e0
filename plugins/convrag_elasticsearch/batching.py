"""Searches that come at the same time go as one request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class Batcher(Generic[A, R]):
    """Collects what several threads ask for. The thread that comes first waits for the others, and sends for all.

    There is no thread of its own that could be forgotten, and nobody holds a lock while waiting: whoever sends answers
    everybody in its batch, whatever happens.

    Args:
        send: takes what was collected and gives an answer, or an error, for each, in this order.
        window: seconds that the first one waits.
        most: a batch that has so many goes at once; what one call asks for stays together.
    """

    def __init__(self, send: Callable[[Sequence[A]], Sequence[R | Exception]], window: float, most: int) -> None:
        self._send = send
        self._window = window
        self._most = most
        self._lock = threading.Lock()
        self._open: _Batch[A, R] | None = None

    def ask(self, wanted: Sequence[A]) -> list[R]:
        """The answers to these, in this order. Raises the error of the first that has one."""
        with self._lock:
            leads = self._open is None
            batch = self._open = self._open or _Batch()
            answers = batch.add(wanted)
            if len(batch.asked) >= self._most:
                self._open = None
                batch.full.set()
        if leads:
            self._lead(batch)
        return [answer.result() for answer in answers]

    def _lead(self, batch: _Batch[A, R]) -> None:
        """Wait, send and answer; an interruption while waiting reaches the others as an error."""
        try:
            batch.full.wait(self._window)
            self._close(batch)
            for answer, result in zip(batch.answers, self._send(batch.asked), strict=True):
                if isinstance(result, Exception):
                    answer.set_exception(result)
                else:
                    answer.set_result(result)
        except BaseException as error:
            self._close(batch)
            for answer in batch.answers:
                if not answer.done():
                    answer.set_exception(error)
            if not isinstance(error, Exception):
                raise

    def _close(self, batch: _Batch[A, R]) -> None:
        """Let nobody join any more."""
        with self._lock:
            if self._open is batch:
                self._open = None


class _Batch(Generic[A, R]):
    """What goes together."""

    def __init__(self) -> None:
        self.asked: list[A] = []
        self.answers: list[Future[R]] = []
        self.full = threading.Event()

    def add(self, wanted: Sequence[A]) -> list[Future[R]]:
        fresh: list[Future[R]] = [Future() for _ in wanted]
        self.asked += wanted
        self.answers += fresh
        return fresh
