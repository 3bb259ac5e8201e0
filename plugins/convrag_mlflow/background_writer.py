"""Writes things in a thread of its own, in the order in which they come: nobody waits for a database."""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MOST = 500
"""Things that may wait; others are dropped."""

BATCH = 20
"""Things that are written together where they wait."""

PROGRAM_SECONDS = 30.0
"""How long the end of a program waits."""

UNFINISHED_SECONDS = 1.0
"""How long `flush` waits for things that are announced: those of turns that were just stopped come soon."""


class BackgroundWriter(Generic[T]):
    """Writes things in the background. What cannot be written is dropped, and told of once.

        writer.announce()
        ...
        writer.add(thing)

    Args:
        connect: is called in the thread before anything is written.
        write: writes some of them.
        warn: is given the first error, or None where a thing was dropped since too many waited.
    """

    def __init__(
        self,
        connect: Callable[[], object],
        write: Callable[[Sequence[T]], object],
        warn: Callable[[Exception | None], object],
    ) -> None:
        self._connect = connect
        self._write = write
        self._warn = warn
        self._warned = False
        self._given_up = False
        self._announced = 0
        self._waiting: deque[T] = deque()
        self._writing = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to connect, if that has not begun. The end of a program then waits for what it has added."""
        with self._changed:
            if self._thread is None:
                for name in ("thread", "process"):  # MLflow needs them, and once a program ends they refuse to load
                    import_module(f"concurrent.futures.{name}")
                atexit.register(self._finish)
                self._thread = threading.Thread(target=self._run, name="mlflow", daemon=True)
                self._thread.start()

    def announce(self) -> None:
        """Say that a thing will come."""
        with self._changed:
            self._announced += 1

    def add(self, thing: T) -> None:
        """Have an announced thing written soon."""
        self.start()
        with self._changed:
            self._announced -= 1
            room = len(self._waiting) < MOST
            if room:
                self._waiting.append(thing)
            self._changed.notify_all()
        if not room:
            self._warn_once(None)

    def flush(self, seconds: float) -> int:
        """Wait until everything is written, at most so many seconds; return how many things are not."""
        begin = time.monotonic()
        with self._changed:
            while self._waiting or self._writing or self._announced:
                only_announced = not (self._waiting or self._writing)
                limit = min(seconds, UNFINISHED_SECONDS) if only_announced else seconds
                if (left := begin + limit - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            left_over = len(self._waiting) + self._writing
            self._given_up = bool(left_over)
            return left_over

    def _finish(self) -> None:
        """Wait at the end of the process, unless `flush` has waited in vain already."""
        if not self._given_up and (left_over := self.flush(PROGRAM_SECONDS)):
            self._warn_once(TimeoutError(f"{left_over} were not written in {PROGRAM_SECONDS:.0f} s"))

    def _run(self) -> None:
        self._try(self._connect)
        while True:
            with self._changed:
                self._writing = 0
                self._changed.notify_all()
                while not self._waiting:
                    self._changed.wait()
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                self._writing = len(batch)
            self._try(self._write, batch)
            del batch  # of turns, with all their passages

    def _try(self, call: Callable[..., object], *arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception as error:  # nothing that is logged is worth a turn
            self._warn_once(error)

    def _warn_once(self, error: Exception | None) -> None:
        with self._changed:
            warned, self._warned = self._warned, True
        if not warned:
            self._warn(error)
