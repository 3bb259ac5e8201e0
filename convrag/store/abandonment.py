"""What is cleaned up where a process ends while a thread is still in a block: it hangs in a library or a system call.

A process that is interrupted waits for no such thread. The `finally` of its blocks then never comes; these cleanups do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_open: dict[object, tuple[Callable[[], None], bool]] = {}
"""The cleanups of blocks in which a thread is, and whether they are slow."""


@contextmanager
def if_abandoned(cleanup: Callable[[], None], *, slow: bool = False) -> Iterator[None]:
    """Call `cleanup` if the process ends, by an interruption, before the block does.

    It is called from another thread, and may be called although the block ends just then.

    Args:
        cleanup: what is done.
        slow: whether it does more than remove files (it writes a database, say). A slow one may be cut off.
    """
    key = object()
    _open[key] = cleanup, slow
    try:
        yield
    finally:
        _open.pop(key, None)


def clean_up_abandoned(*, slow: bool = True) -> None:
    """Call the cleanups of all blocks in which a thread still is, the last one first; each is called once.

    Args:
        slow: whether to call the slow ones, too.
    """
    for key, (cleanup, is_slow) in reversed(list(_open.items())):
        if is_slow and not slow:
            continue
        if _open.pop(key, None):
            with suppress(Exception):  # the process ends now: there is nobody to tell
                cleanup()
