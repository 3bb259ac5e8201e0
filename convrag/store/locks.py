"""Locks by key, across the threads of this process and across processes: one of them computes, the others wait."""

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
    """The locks of a folder, one for each key. Get them with `get_locks`: a process has one object per folder."""

    def __init__(self, folder: Path) -> None:
        self._guard = threading.Lock()
        self._thread_locks: dict[str, tuple[threading.Lock, int]] = {}
        """Key -> its lock, and the number of threads that have it or wait for it."""
        # Never closed: closing the file anywhere in the process drops all of the process's locks on it.
        self._file = os.open(folder / "claims.lock", os.O_RDWR | os.O_CREAT)

    @contextmanager
    def lock_keys(self, keys: Iterable[str]) -> Iterator[None]:
        """Lock the keys during the block, waiting for each of them.

        They are locked in sorted order, so that two callers cannot wait for each other.
        """
        with ExitStack() as locked:
            for key in sorted(set(keys)):
                locked.enter_context(self._lock_for_threads(key))
                locked.enter_context(self._lock_for_processes(key))
            yield

    @contextmanager
    def _lock_for_threads(self, key: str) -> Iterator[None]:
        """Lock a key against the other threads of this process."""
        with self._guard:
            lock, users = self._thread_locks.get(key, (threading.Lock(), 0))
            self._thread_locks[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._thread_locks.pop(key)
                if users > 1:
                    self._thread_locks[key] = (lock, users - 1)

    @contextmanager
    def _lock_for_processes(self, key: str) -> Iterator[None]:
        """Lock a key against other processes: one byte of the lock file, at an offset that is a hash of the key.

        The system releases the locks of a process that is killed.
        """
        if not fcntl:
            yield
            return
        offset = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "big")
        self._set_byte_lock(fcntl.F_WRLCK, offset)
        try:
            yield
        finally:
            self._set_byte_lock(fcntl.F_UNLCK, offset)

    def _set_byte_lock(self, kind: int, offset: int) -> None:
        """Lock or unlock a byte of the lock file, for this open file (OFD lock) or else for this process (POSIX lock).

        POSIX locks do not tell threads apart. If threads of two processes wait for each other's keys, the system may
        report a deadlock that is none.
        """
        if hasattr(fcntl, "F_OFD_SETLKW"):
            wanted = struct.pack("hhqqi", kind, os.SEEK_SET, offset, 1, 0)  # struct flock
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, wanted)
            return
        with suppress(OSError):  # without the lock, at worst two processes compute the same result
            fcntl.lockf(self._file, fcntl.LOCK_EX if kind == fcntl.F_WRLCK else fcntl.LOCK_UN, 1, offset)


_locks: dict[Path, KeyLocks] = {}
_locks_guard = threading.Lock()  # functools.cache could make two objects if two threads call it at the same time


def get_locks(folder: Path) -> KeyLocks:
    """Return the locks of a folder in this process."""
    with _locks_guard:
        if folder not in _locks:
            _locks[folder] = KeyLocks(folder)
        return _locks[folder]
