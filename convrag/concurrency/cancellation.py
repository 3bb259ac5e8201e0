"""Calls that can be cancelled from another thread, and cleanups where a process ends meanwhile.

    cancellation = Cancellation()
    with cancellation.apply():  # in a worker's thread
        ask_the_server()        # its waits end with `Cancelled` ...
    cancellation.cancel()       # ... when another thread says so

Whatever waits for long uses the functions of this module: a pause is `sleep`, a connection is
closed by `when_cancelled`. In a thread without a cancellation, as in a program that uses convrag
as a library, they wait as usual.

A process that is interrupted does not wait for threads that hang in a library or a system call.
The `finally` of their blocks then never comes; the cleanups of `cleanup_at_exit` do.

Libraries have this for tasks of an event loop (anyio's cancel scopes). Stages are plain functions
in threads, which nothing can end from outside, so their waits have to ask.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar

from convrag.concurrency.slots import release_slot


class Cancelled(BaseException):
    """The call was cancelled.

    It is not an Exception, so that no stage takes it for a failure and falls back.
    """


class Cancellation:
    """Cancels the calls of the threads to which it applies.

    `with when_cancelled(cancellation.cancel)` cancels it together with the one of this thread.
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
        """Call a function if the calls are cancelled during the block, or were before it.

        The thread that cancels calls it, perhaps twice.
        """
        key = object()
        # Like pop and list(), this is a single operation: there is no lock that a fork would copy
        self._callbacks[key] = callback
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
    current = _current.get()
    return current is not None and current.cancelled


def check_cancelled() -> None:
    """Raise Cancelled if the calls of this thread are cancelled.

    Call it before anything that costs time or money.
    """
    if is_cancelled():
        raise Cancelled


def sleep(seconds: float) -> None:
    """Sleep. Raises Cancelled as soon as the calls of this thread are cancelled."""
    current = _current.get()
    with release_slot():
        if current:
            current.sleep(seconds)
        else:
            time.sleep(seconds)


@contextmanager
def hold(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock (of `threading`) during the block.

    Raises Cancelled if the calls of this thread are cancelled while it waits.
    """
    if not lock.acquire(blocking=False):
        with release_slot():
            while not lock.acquire(timeout=0.1):
                check_cancelled()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def when_cancelled(callback: Callable[[], None]) -> Iterator[None]:
    """Call a function if the calls of this thread are cancelled, in the block or before it."""
    current = _current.get()
    with current.call_when_cancelled(callback) if current else nullcontext():
        yield


_cleanups: dict[object, tuple[Callable[[], None], bool]] = {}
"""The cleanups of the blocks in which a thread is, and whether they are slow."""


@contextmanager
def cleanup_at_exit(cleanup: Callable[[], None], *, slow: bool = False) -> Iterator[None]:
    """Call `cleanup` if an interruption ends the process before the block ends.

    It is called from another thread, and may be called although the block ends just then.

    Args:
        cleanup: removes what the block has begun.
        slow: whether it does more than remove files (it writes a database, say). A slow one may be
            cut off.
    """
    key = object()
    _cleanups[key] = cleanup, slow
    try:
        yield
    finally:
        _cleanups.pop(key, None)


def run_exit_cleanups(*, slow: bool = True) -> None:
    """Call the cleanups of all blocks in which a thread still is, once each, the last one first.

    Args:
        slow: whether to call the slow ones, too.
    """
    for key, (cleanup, is_slow) in reversed(list(_cleanups.items())):
        if is_slow and not slow:
            continue
        if _cleanups.pop(key, None) is not None:
            with suppress(Exception):  # the process ends now: there is nobody to tell
                cleanup()
