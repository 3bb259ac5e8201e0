"""Compute slots: a few threads compute at a time, and give up their slot while they wait.

    slots = ComputeSlots(4)
    with slots.hold():          # this thread computes
        with release_slot():    # it waits for a server: another one may compute meanwhile
            reply = ask_the_server()

Python runs one thread at a time. Sixty threads that all have something to compute take turns, and
all of them finish at the end; one after the other, all but the last finish earlier, and ask their
servers earlier.

A limiter of threads, as anyio and `concurrent.futures` have it, counts a thread until its work
ends. Here the slot is free during each wait, wherever in a stage that is, and a thread whose wait
nobody announced loses its place after a moment. So this is written by hand.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST_WAIT = 0.1
"""Seconds after which a thread computes without a slot.

Those that have the slots may be waiting without `release_slot`.
"""


class ComputeSlots:
    """Lets a number of threads compute at once.

    Args:
        count: the number of threads.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    @contextmanager
    def hold(self) -> Iterator[Callable[[], None]]:
        """Hold a slot during the block, except within `release_slot`.

        Yields a function that gives the slot back, for another thread that counts this one as lost.
        """
        slot = _Slot(self._free)
        token = _current.set(slot)
        slot.acquire()
        try:
            yield slot.release
        finally:
            _current.reset(token)
            slot.release()


class _Slot:
    """The slot of a thread, which has it or not."""

    def __init__(self, free: threading.Semaphore) -> None:
        self.thread = threading.get_ident()
        self._free = free
        self._lock = threading.Lock()
        self._is_held = False

    def acquire(self) -> None:
        self._is_held = self._free.acquire(timeout=LONGEST_WAIT)

    def release(self) -> None:
        with self._lock:
            was_held = self._is_held
            self._is_held = False
        if was_held:
            self._free.release()


_current: ContextVar[_Slot | None] = ContextVar("convrag_compute_slot", default=None)


@contextmanager
def release_slot() -> Iterator[None]:
    """Let another thread compute during the block, in which this one waits.

    It has no effect in a thread without a slot.
    """
    slot = _current.get()
    # The context may be a copy, in a thread that a stage has started
    if slot is None or slot.thread != threading.get_ident():
        yield
        return
    token = _current.set(None)  # a wait within this one has nothing to give back
    slot.release()
    try:
        yield
    finally:
        slot.acquire()
        _current.reset(token)
