"""Locks by key, across the threads of this process and across processes: one of them computes, the others wait.

A key is one byte of the lock file, at an offset that is a hash of the key. These locks use `fcntl`, and no library such
as `filelock`, since that locks whole files. A file for each key would be 500 open files for a batch of 500 keys. A few
files that the keys share would be a deadlock: a stage that holds the lock of its own call asks for that of a call to
another stage, and where two calls share a lock, two processes may wait for each other. Windows has no `fcntl`: only the
threads of one process wait for each other there, and a warning says so when a store is opened.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from weakref import WeakValueDictionary

from convrag.store.forking import ForkAware, making

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment,unused-ignore]

log = logging.getLogger(__name__)

LOCK_FILE = "keys.lock"
"""The file whose bytes are locked, in the folder that the locks are about."""


class KeyLocks(ForkAware):
    """The locks of a folder, one for each key. Get them with `get_locks`: a process has one object per folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._thread_locks: dict[str, tuple[threading.Lock, int]] = {}
        """Key -> its lock, and the number of threads that have it or wait for it."""
        self._file: int | None = None
        """Open while there are thread locks. Closed any earlier, it would lose this process's locks on all keys."""
        super().__init__()

    @contextmanager
    def lock_keys(self, keys: Iterable[str]) -> Iterator[None]:
        """Lock the keys during the block, waiting for each of them. The folder is made where it is missing.

        They are locked in sorted order, so that two callers cannot wait for each other. The locks of a process that is
        killed are free. If the block is copied into a forked child, the child does not have the locks.
        """
        with ExitStack() as locked:
            for key in sorted(set(keys)):
                locked.enter_context(self._lock_key(key))
            yield

    def _reset_in_child(self) -> None:
        """Forget the parent's locks. Closing the inherited file leaves them as they are."""
        self._thread_locks = {}
        self._close()

    @contextmanager
    def _lock_key(self, key: str) -> Iterator[None]:
        """Lock a key against the other threads of this process, then against other processes."""
        process = os.getpid()
        offset = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "big")
        with self._guard:
            if not self._thread_locks:
                self._open()
            lock, users = self._thread_locks.get(key, (threading.Lock(), 0))
            self._thread_locks[key] = (lock, users + 1)
        try:
            with lock:
                self._set_byte_lock(offset, locked=True)
                try:
                    yield
                finally:
                    if process == os.getpid():
                        self._set_byte_lock(offset, locked=False)
        finally:
            if process == os.getpid():
                self._leave(key)

    def _leave(self, key: str) -> None:
        with self._guard:
            lock, users = self._thread_locks.pop(key)
            if users > 1:
                self._thread_locks[key] = (lock, users - 1)
            if not self._thread_locks:
                self._close()

    def _open(self) -> None:
        if fcntl is None:
            return
        try:
            try:
                self._file = _open_file(self.folder / LOCK_FILE)
            except FileNotFoundError:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = _open_file(self.folder / LOCK_FILE)
        except OSError as error:
            warn_without_locks(self.folder, error)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _set_byte_lock(self, offset: int, *, locked: bool) -> None:
        """Lock or unlock a byte of the lock file; where that fails, warn and go on with the locks of threads alone."""
        if self._file is None:
            return
        try:
            _lock_byte(self._file, fcntl.F_WRLCK if locked else fcntl.F_UNLCK, offset)
        except OSError as error:
            if error.errno != errno.EDEADLK:  # only of POSIX locks: see below
                warn_without_locks(self.folder, error)


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def _lock_byte(file: int, kind: int, offset: int) -> None:
    """Lock or unlock a byte of a file, for this open file (OFD lock) or, where these are not known, for this process.

    The latter are POSIX locks, which do not tell threads apart. If threads of two processes wait for each other's keys,
    the system may report a deadlock (EDEADLK) that is none.
    """
    if hasattr(fcntl, "F_OFD_SETLKW"):
        try:
            # struct flock
            fcntl.fcntl(file, fcntl.F_OFD_SETLKW, struct.pack("hhqqi", kind, os.SEEK_SET, offset, 1, 0))
            return
        except OSError as error:
            if error.errno != errno.EINVAL:  # which a system says that does not know these locks
                raise
    fcntl.lockf(file, fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX, 1, offset)


_warned: set[Path | None] = set()
"""The folders about which a warning was given; None stands for all."""


def warn_without_locks(folder: Path, error: OSError) -> None:
    """Warn, once for each folder, that locks do not work there."""
    if folder not in _warned:
        _warned.add(folder)
        log.warning(
            "%s cannot be locked (%s): two processes may compute the same result, or write the same files",
            folder,
            error.strerror or error,
        )


def warn_without_fcntl() -> None:
    """Warn, once in a process, where processes cannot wait for each other's keys at all: on Windows."""
    if fcntl is None and None not in _warned:
        _warned.add(None)
        log.warning("on this system processes cannot wait for each other: two of them may compute the same result")


_locks: WeakValueDictionary[Path, KeyLocks] = WeakValueDictionary()


def get_locks(folder: Path) -> KeyLocks:
    """Return the locks of a folder in this process, which are one object for as long as anything refers to them."""
    folder = folder.resolve()
    with making:
        if (locks := _locks.get(folder)) is None:
            locks = _locks[folder] = KeyLocks(folder)
        return locks
