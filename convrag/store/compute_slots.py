"""Threads that wait for servers most of their time compute a few at a time.

    slots = ComputeSlots(4)
    with slots.hold():          # this thread computes
        with waiting():         # it waits for a server: another may compute meanwhile
            reply = ask_the_server()

Python runs one thread at a time. Sixty threads that all have something to compute take turns, and all of them finish at
the end; one after the other, all but the last finish earlier, and ask their servers earlier.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from convrag.store.forks import ForkAware

STUCK_SECONDS = 0.05
"""Where no slot was taken or given back for so long, those that have them may be waiting without saying so: whoever
waits for a slot computes without.
"""

LONGEST_WAIT = 0.5
"""Seconds after which a thread computes without a slot in any case."""


class ComputeSlots(ForkAware):
    """Slots for threads that compute, which get them in the order in which they came.

    Args:
        count: threads that compute at once.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._queue: deque[threading.Lock] = deque()
        """A closed lock for each thread that waits. It opens when the thread has a slot."""
        self._moved = 0.0  # when a slot was last taken or given back
        super().__init__()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a slot during the block, except where this thread is `waiting`."""
        slot = _Slot(self)
        token = _current.set(slot)
        slot.take()
        try:
            yield
        finally:
            _current.reset(token)
            slot.give_back()

    def take(self) -> bool:
        """Wait for a slot. False where this thread computes without, and has nothing to give back."""
        with self._guard:
            if self._free:
                self._free -= 1
                self._moved = time.monotonic()
                return True
            turn = threading.Lock()
            turn.acquire()
            self._queue.append(turn)
        end = time.monotonic() + LONGEST_WAIT
        while not turn.acquire(timeout=STUCK_SECONDS):
            with self._guard:
                now = time.monotonic()
                if turn in self._queue and (now >= end or now - self._moved >= STUCK_SECONDS):
                    self._queue.remove(turn)
                    return False
        return True

    def give_back(self) -> None:
        """Give a slot to the thread that has waited longest, if there is one."""
        with self._guard:
            self._moved = time.monotonic()
            if self._queue:
                self._queue.popleft().release()
            else:
                self._free += 1


class _Slot:
    """The slot of a thread, which it may hold or not."""

    def __init__(self, slots: ComputeSlots) -> None:
        self.thread = threading.get_ident()
        self._slots = slots
        self._held = False

    def take(self) -> None:
        self._held = self._slots.take()

    def give_back(self) -> None:
        if self._held:
            self._held = False
            self._slots.give_back()


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
