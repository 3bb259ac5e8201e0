"""Waits: they can be cancelled, let other threads compute meanwhile, and hold up no process that
ends.

Cancellation: the calls that a thread makes can be ended from another thread.

    cancellation = Cancellation()
    with cancellation.apply():  # in a worker's thread
        ask_the_server()        # its waits end with `Cancelled` ...
    cancellation.cancel()       # ... when another thread says so

Whatever waits here for long uses these functions: a pause is `sleep`, a connection is closed by
`when_cancelled`. A thread without a cancellation, as in a program that uses convrag as a library,
waits as it would without them.

A process that is interrupted waits for no thread that hangs in a library or a system call. The
`finally` of its blocks then never comes; the cleanups of `if_abandoned` do.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar


class Cancelled(BaseException):
    """The call was cancelled. It is no Exception, so that no stage takes it for a failure and falls
    back.
    """


class Cancellation:
    """Cancels the calls of the threads to which it applies.

    Where another one applies, `with when_cancelled(cancellation.cancel)` cancels this one with it.
    """

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def cancelled(self) -> bool:
        """Whether the calls are cancelled."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End the waits of all threads to which it applies; further ones end at once."""
        self._cancelled.set()
        for callback in list(self._callbacks.values()):
            callback()

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Let it apply to this thread during the block."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def call_when_cancelled(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call a function, from the thread that cancels, where that happens during the block or has
        happened before.

        The function may be called twice.
        """
        key = object()
        self._callbacks[key] = (
            callback  # a single operation, as pop and list() are: no lock that a fork would copy
        )
        try:
            if self.cancelled:
                callback()
            yield
        finally:
            self._callbacks.pop(key)

    def sleep(self, seconds: float) -> None:
        """Sleep. Raises Cancelled as soon as it is cancelled."""
        if self._cancelled.wait(seconds):
            raise Cancelled

    def check(self) -> None:
        """Raise Cancelled if it is cancelled."""
        if self.cancelled:
            raise Cancelled


_current: ContextVar[Cancellation | None] = ContextVar("convrag_cancellation", default=None)


def is_cancelled() -> bool:
    """Whether the calls of this thread are cancelled."""
    return (current := _current.get()) is not None and current.cancelled


def check_cancelled() -> None:
    """Raise Cancelled if the calls of this thread are cancelled. Called before anything that costs
    time or money.
    """
    if is_cancelled():
        raise Cancelled


def sleep(seconds: float) -> None:
    """Sleep. Raises Cancelled as soon as the calls of this thread are cancelled."""
    with waiting():
        if current := _current.get():
            current.sleep(seconds)
        else:
            time.sleep(seconds)


@contextmanager
def hold(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock (of `threading`) during the block. Raises Cancelled where the calls are cancelled
    while it waits.
    """
    if not lock.acquire(blocking=False):
        with waiting():
            while not lock.acquire(timeout=0.1):
                check_cancelled()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def when_cancelled(callback: Callable[[], None]) -> Iterator[None]:
    """Call a function where the calls of this thread are cancelled during the block, or were
    before.
    """
    current = _current.get()
    with current.call_when_cancelled(callback) if current else nullcontext():
        yield


_open: dict[object, tuple[Callable[[], None], bool]] = {}
"""The cleanups of blocks in which a thread is, and whether they are slow."""


@contextmanager
def if_abandoned(cleanup: Callable[[], None], *, slow: bool = False) -> Iterator[None]:
    """Call `cleanup` if the process ends, by an interruption, before the block does.

    It is called from another thread, and may be called although the block ends just then.

    Args:
        cleanup: what is done.
        slow: whether it does more than remove files (it writes a database, say). A slow one may be
            cut off.
    """
    key = object()
    _open[key] = cleanup, slow
    try:
        yield
    finally:
        _open.pop(key, None)


def clean_up_abandoned(*, slow: bool = True) -> None:
    """Call the cleanups of all blocks in which a thread still is, the last one first; each is
    called once.

    Args:
        slow: whether to call the slow ones, too.
    """
    for key, (cleanup, is_slow) in reversed(list(_open.items())):
        if (slow or not is_slow) and _open.pop(key, None) is not None:
            with suppress(Exception):  # the process ends now: there is nobody to tell
                cleanup()


LONGEST_WAIT = 0.1
"""Seconds after which a thread computes without a slot: those that have one may be waiting without
saying so.
"""


class ComputeSlots:
    """Threads that wait for servers most of their time compute a few at a time.

        slots = ComputeSlots(4)
        with slots.hold():          # this thread computes
            with waiting():         # it waits for a server: another may compute meanwhile
                reply = ask_the_server()

    Python runs one thread at a time. Sixty threads that all have something to compute take turns,
    and all of them finish at the end; one after the other, all but the last finish earlier, and ask
    their servers earlier.

    Args:
        count: threads that compute at once.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold a slot during the block, except where this thread is `waiting`."""
        slot = _Slot(self._free)
        token = _slot.set(slot)
        slot.take()
        try:
            yield
        finally:
            _slot.reset(token)
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


_slot: ContextVar[_Slot | None] = ContextVar("convrag_compute_slot", default=None)


@contextmanager
def waiting() -> Iterator[None]:
    """Let another thread compute during the block, in which this one waits. No effect in a thread
    without a slot.
    """
    slot = _slot.get()
    if (
        slot is None or slot.thread != threading.get_ident()
    ):  # the context may be a copy, in a thread of a stage
        yield
        return
    token = _slot.set(None)  # a wait within this one has nothing to give back
    slot.give_back()
    try:
        yield
    finally:
        slot.take()
        _slot.reset(token)
