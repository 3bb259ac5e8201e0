"""Threads that wait for servers most of their time compute a few at a time.

    slots = ComputeSlots(4)
    with slots.hold():          # this thread computes
        with waiting():         # it waits for a server: another may compute meanwhile
            reply = ask_the_server()

Python runs one thread at a time. Sixty threads that all have something to compute take turns, and all of them finish at
the end; one after the other, all but the last finish earlier, and ask their servers earlier.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST_WAIT = 0.05
"""Seconds after which a thread computes without a slot: those that have them may be waiting without saying so."""


class ComputeSlots:
    """Slots for threads that compute.

    Args:
        count: threads that compute at once.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a slot during the block, except where this thread is `waiting`."""
        slot = _Slot(self._free)
        token = _current.set(slot)
        slot.take()
        try:
            yield
        finally:
            _current.reset(token)
            slot.give_back()


class _Slot:
    """The slot of a thread, which it may hold or not."""

    def __init__(self, free: threading.Semaphore) -> None:
        self.thread = threading.get_ident()
        self._free = free
        self._held = False

    def take(self) -> None:
        self._held = self._free.acquire(timeout=LONGEST_WAIT)

    def give_back(self) -> None:
        if self._held:
            self._held = False
            self._free.release()


_current: ContextVar[_Slot | None] = ContextVar("convrag_compute_slot", default=None)


@contextmanager
def waiting() -> Iterator[None]:
    """Let another thread compute during the block, in which this one waits. No effect in a thread without a slot."""
    slot = _current.get()
    if slot is None or slot.thread != threading.get_ident():  # the context may be a copy, in a thread of a stage
        yield
        return
    token = _current.set(None)  # a wait within this one has nothing to give back
    slot.give_back()
    try:
        yield
    finally:
        slot.take()
        _current.reset(token)
