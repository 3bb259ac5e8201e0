"""Who is computing what just now: locks by key, across the threads of this process and across processes."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: only the threads of one process wait for each other
    fcntl = None  # type: ignore[assignment,unused-ignore]


class KeyLocks:
    """The keys that are held below a folder. There is one of it per folder and process: see `locks_of`."""

    def __init__(self, folder: Path) -> None:
        self._guard = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}
        # Kept open for good: the system drops all of a process's locks on a file as soon as it closes it anywhere.
        self._file = os.open(folder / "claims.lock", os.O_RDWR | os.O_CREAT)

    @contextmanager
    def hold(self, keys: Iterable[str]) -> Iterator[None]:
        """Hold the keys, waiting for each; in sorted order, so that two callers cannot wait for each other."""
        with ExitStack() as held:
            for key in sorted(set(keys)):
                held.enter_context(self._in_process(key))
                held.enter_context(self._across_processes(key))
            yield

    @contextmanager
    def _in_process(self, key: str) -> Iterator[None]:
        with self._guard:
            lock, users = self._held.get(key, (threading.Lock(), 0))
            self._held[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = (lock, users - 1)

    @contextmanager
    def _across_processes(self, key: str) -> Iterator[None]:
        """Lock one byte of one file, at an offset that stands for the key: a killed process lets go of it by itself."""
        if not fcntl:
            yield
            return
        offset = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "big")
        self._lock(fcntl.F_WRLCK, offset)
        try:
            yield
        finally:
            self._lock(fcntl.F_UNLCK, offset)

    def _lock(self, kind: int, offset: int) -> None:
        """Lock or unlock a byte for this open file; the older kind of lock knows processes, and no threads in them.

        With the older one, two processes whose threads hold what the other wants look like a deadlock to the system.
        """
        if hasattr(fcntl, "F_OFD_SETLKW"):
            wanted = struct.pack("hhqqi", kind, os.SEEK_SET, offset, 1, 0)  # struct flock
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, wanted)
            return
        with suppress(OSError):  # a supposed deadlock: going on without the lock costs at most a call made twice
            fcntl.lockf(self._file, fcntl.LOCK_EX if kind == fcntl.F_WRLCK else fcntl.LOCK_UN, 1, offset)


_known: dict[Path, KeyLocks] = {}
_knowing = threading.Lock()  # functools.cache may call twice when two threads come first


def locks_of(folder: Path) -> KeyLocks:
    """The claims of a folder in this process."""
    with _knowing:
        if folder not in _known:
            _known[folder] = KeyLocks(folder)
        return _known[folder]
