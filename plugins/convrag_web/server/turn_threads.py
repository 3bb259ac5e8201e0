"""Threads in which turns run: one that is idle takes the next, and a new one begins only where none is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from queue import Empty, SimpleQueue

IDLE_SECONDS = 30.0
"""After so many seconds without a turn a thread ends."""


class TurnThreads:
    """Threads for turns. They end with the process, whatever a stage does.

    To begin a thread takes the event loop longer than anything else that it does for a turn: it waits until the thread
    runs.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

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
            try:
                work = self._work.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._idle:  # else a turn was just given to this thread
                        self._idle -= 1
                        return
                continue
            Context().run(work)
            del work  # the turn's record
            with self._lock:
                self._idle += 1
