"""Daemon threads in which turns run: the next turn takes an idle one before a new one begins."""

import threading
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue


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
