"""What is cleaned up where a process ends while a thread is still in a block: it hangs in a library or a system call.

A process that is interrupted waits for no such thread. The `finally` of its blocks then never comes; these cleanups do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_open: dict[object, Callable[[], None]] = {}
"""The cleanups of blocks in which a thread is."""


@contextmanager
def if_abandoned(cleanup: Callable[[], None]) -> Iterator[None]:
    """Call `cleanup` if the process ends, by an interruption, before the block does.

    It is called from another thread, may be called although the block ends just then, and may not have the time to end.
    """
    key = object()
    _open[key] = cleanup
    try:
        yield
    finally:
        _open.pop(key, None)


def clean_up_abandoned() -> None:
    """Call the cleanups of all blocks in which a thread still is, the last one first."""
    for key, cleanup in reversed(list(_open.items())):
        with suppress(Exception):  # the process ends now: there is nobody to tell
            cleanup()
        _open.pop(key, None)
