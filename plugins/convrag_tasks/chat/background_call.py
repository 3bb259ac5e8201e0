"""A call in a thread of its own, so that the main thread can show what goes on and hear Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from convrag.sdk.cancelling import Cancellation, Cancelled

T = TypeVar("T")
R = TypeVar("R")

TICK_SECONDS = 0.08
"""From one tick to the next while nothing is reported."""


class BackgroundCall(Generic[T]):
    """A call in a thread. The main thread alone prints and reads: the call hands over functions that do so.

        record = BackgroundCall(lambda call: pipeline.turn("a", "Why?", listener=call.reporter(show))).wait(spin)

    Args:
        function: is called in the thread, with this object.
    """

    def __init__(self, function: Callable[[BackgroundCall[T]], T]) -> None:
        self._reports: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._cancellation = Cancellation()
        self._thread = threading.Thread(target=self._run, args=(function,), name="chat", daemon=True)

    def wait(self, tick: Callable[[], object]) -> T:
        """Start the call, carry out what it hands over, and return its result. Raises what it raises.

        An exception of this thread, such as KeyboardInterrupt, cancels the call: its waits end, what it does after that
        is not shown, and this method does not wait for it.

        Args:
            tick: is called several times a second, and after each report.
        """
        self._thread.start()
        try:
            while (report := self._next_report()) is not None:
                report()
                tick()
        except BaseException:
            self._cancellation.cancel()
            raise
        if self._error is not None:
            raise self._error
        return self._results[0]

    def report(self, show: Callable[[], object]) -> None:
        """Have the main thread call a function soon; without waiting for it. Called by the thread of the call."""
        self._reports.put(show)

    def ask(self, read: Callable[[], R]) -> R:
        """Have the main thread call a function, and return its result. Called by the thread of the call.

        Raises Cancelled where the main thread has given up, as after Ctrl-C.
        """
        replies: SimpleQueue[R | None] = SimpleQueue()
        self.report(lambda: replies.put(read()))
        with self._cancellation.call_when_cancelled(lambda: replies.put(None)):
            reply = replies.get()
        if self._cancellation.cancelled:
            raise Cancelled
        return reply  # type: ignore[return-value]

    def _next_report(self) -> Callable[[], object] | None:
        try:
            return self._reports.get(timeout=TICK_SECONDS)
        except Empty:
            return _nothing

    def _run(self, function: Callable[[BackgroundCall[T]], T]) -> None:
        try:
            with self._cancellation.apply():
                self._results.append(function(self))
        except BaseException as error:  # of any kind: it belongs to whoever waits
            self._error = error
        finally:
            self._reports.put(None)


def _nothing() -> None:
    pass
