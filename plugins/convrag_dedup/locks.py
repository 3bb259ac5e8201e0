"""A lock for each name, for as long as somebody holds it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary


class Locks:
    """Locks by name; those that nobody uses take no room."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold the lock of a name."""
        with self._guard:
            lock = self._locks.get(name) or self._locks.setdefault(name, _Lock())
        with lock.lock:
            yield


class _Lock:
    """What a weak reference can point at."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
