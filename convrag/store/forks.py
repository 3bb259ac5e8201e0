"""What a forked child does with the locks, the open files and the connections of its parent.

A fork copies every lock of a thread as it is: one that another thread holds at that moment would stay locked in the
child for ever. Open files with their locks, and connections, would belong to both processes.

The rule: an object that several threads use, and that a child may go on with, is `ForkAware`. Its `_guard`, which is
held for moments only, is taken before a fork; a lock that is held for long (while a stage is built) is made anew in
`_reset_in_child`. A lock of one call or one turn needs neither, since no child goes on with another thread's turn.
"""

import os
import threading
from weakref import WeakSet

making = threading.RLock()
"""Held while an object of a process is made or looked up. Take it before a guard, never while holding one."""


class ForkAware:
    """An object whose `_guard` is taken while the process forks. A fork waits for it: hold it for moments only."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        with making:
            _all.add(self)

    def _prepare_for_fork(self) -> None:
        """Close what no child may inherit. The guard is held."""

    def _reset_in_child(self) -> None:
        """Forget what belongs to the parent. The guard is held, and there is no other thread."""


_all: WeakSet[ForkAware] = WeakSet()
_held: list[ForkAware] = []  # whose guards are held while this process forks


def _before_fork() -> None:
    making.acquire()
    for each in list(_all):
        each._guard.acquire()
        _held.append(each)
        each._prepare_for_fork()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop()._guard.release()
    making.release()


def _after_fork_in_child() -> None:
    for each in _held:
        each._reset_in_child()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
