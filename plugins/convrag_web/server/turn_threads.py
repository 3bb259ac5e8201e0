"""Daemon threads in which turns run: the next turn takes an idle one before a new one begins.

A thread whose stage hangs cannot be ended. It is counted as lost until its stage ends.
"""

import sys
import threading
import traceback
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue
from typing import Protocol


class Ending(Protocol):
    """Work in a thread that ends at some time, such as a `Stream`."""

    @property
    def has_ended(self) -> bool:
        """Whether the work has ended."""


class LostThreads:
    """The threads whose work was given up, and has not ended: a stage hangs in them."""

    def __init__(self) -> None:
        self._work: list[Ending] = []

    def add(self, work: Ending) -> None:
        """Add work that was given up."""
        self._work.append(work)

    @property
    def count(self) -> int:
        """The number of threads that are lost now; one whose work ends late is none."""
        self._work = [work for work in self._work if not work.has_ended]
        return len(self._work)


class TurnThreads:
    """Threads in which turns run; a new one begins only if none is idle.

    Beginning a thread blocks the event loop for longer than anything else it does for a turn,
    since it waits until the thread runs. The threads are daemons, so that a stage that ignores its
    cancellation cannot keep the process alive; those of concurrent.futures and anyio can.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self.lost = LostThreads()
        """The threads that are counted as lost."""

    def run(self, work: Callable[[], None]) -> None:
        """Call a function, which raises nothing, in one of the threads."""
        with self._lock:
            needs_thread = not self._idle
            if not needs_thread:
                self._idle -= 1
        self._work.put(work)
        if needs_thread:
            threading.Thread(target=self._run, name="turn", daemon=True).start()

    def _run(self) -> None:
        while True:
            work = self._work.get()
            Context().run(work)
            with self._lock:
                self._idle += 1


def find_place(thread: int) -> str:
    """Return the file and the line at which a thread is; empty if it has ended."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return ""
    place = traceback.extract_stack(frame, limit=1)[0]
    return f"{place.filename}, line {place.lineno}"
