"""Locks of keys, and of folders that one process at a time writes: a run's, a grid's, a cell's.

Locks by key work across the threads of this process and across processes: one of them computes, the
others wait.

A key is one byte of the lock file, at an offset that is a hash of the key. These locks use `fcntl`,
since libraries such as `filelock` lock whole files. A file for each key would be 500 open files for
a batch of 500 keys. A few files that the keys share would be a deadlock: a stage that holds the
lock of its own call asks for the lock of a call to another stage, and where two calls share a lock,
two processes may wait for each other. Windows has no `fcntl`: only the threads of one process wait
for each other there, and a warning says so.

The lock of a folder is `filelock`'s, which works on Windows too, is free when its process is
killed, and does not pass to a forked child. The lock file says who holds it, and exists only
meanwhile.

A fork copies every lock of a thread as it is: one that another thread holds at that moment would
stay locked in the child for ever. Open files with their locks, and connections, would belong to
both processes. So an object that several threads use, and that a child may go on with, is
`ForkAware`. Its `_guard`, which is held for moments only, is taken before a fork; a lock that is
held for long (while a stage is built) is replaced in `_reset_in_child`. A lock of one call or one
turn needs neither, since no child goes on with another thread's turn.
"""

import errno
import logging
import os
import platform
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

from convrag.api.errors import FolderInUse
from convrag.concurrency.cancellation import (
    check_cancelled,
    cleanup_at_exit,
    is_cancelled,
    sleep,
)
from convrag.concurrency.slots import release_slot

creation_lock = threading.RLock()
"""The lock under which a process creates or looks up the objects that it has once.

Take it before a guard, never while holding one.
"""


class ForkAware:
    """An object whose `_guard` is taken while the process forks.

    A fork waits for the guard, so hold it for moments only.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        with creation_lock:
            _fork_aware.add(self)

    def _prepare_for_fork(self) -> None:
        """Close what no child may inherit. The guard is held."""

    def _reset_in_child(self) -> None:
        """Forget what belongs to the parent. The guard is held, and there is no other thread."""


_fork_aware: WeakSet[ForkAware] = WeakSet()
_guarded: list[ForkAware] = []
"""The objects whose guards are held while this process forks."""


def _before_fork() -> None:
    creation_lock.acquire()
    for each in list(_fork_aware):
        each._guard.acquire()
        _guarded.append(each)
        each._prepare_for_fork()


def _after_fork_in_parent() -> None:
    while _guarded:
        _guarded.pop()._guard.release()
    creation_lock.release()


def _after_fork_in_child() -> None:
    for each in _guarded:
        each._reset_in_child()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment,unused-ignore]

log = logging.getLogger(__name__)

LOCK_FILE = "keys.lock"
"""The file whose bytes are locked, in the folder that the locks are about."""


class KeyLocks(ForkAware):
    """The locks of a folder, one for each key.

    Get them with `get_locks`: a process has one object per folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._claimed: set[str] = set()
        """The keys that threads of this process have, or wait for another process to free."""
        self._file: int | None = None
        """The lock file, open while there are claims.

        Closed any earlier, it would lose this process's locks on all keys.
        """
        super().__init__()
        self._freed = threading.Condition(self._guard)

    @contextmanager
    def lock_keys(self, keys: Iterable[str]) -> Iterator[None]:
        """Lock the keys during the block, after waiting for each of them.

        The folder is created if it is missing.

        A thread claims all keys at once against the other threads of its process, and then locks
        them in sorted order against other processes, so that two callers cannot wait for each
        other. The locks of a process that is killed are free. If the block is copied into a forked
        child, the child does not have the locks.

        Raises:
            Cancelled: the calls of this thread were cancelled while it waited.
        """
        wanted = set(keys)
        process = os.getpid()
        if not self._claim(wanted, 0):
            with release_slot():
                while not self._claim(wanted, 0.1):
                    check_cancelled()
        try:
            for key in sorted(wanted):
                self._wait_for_byte(key)
            yield
        finally:
            if process == os.getpid():
                self._free(wanted)

    def _claim(self, wanted: set[str], seconds: float) -> bool:
        """Claim keys against the other threads; False if one of them keeps a key for so long."""
        with self._freed:
            if not self._freed.wait_for(lambda: self._claimed.isdisjoint(wanted), seconds):
                return False
            if not self._claimed:
                self._open()
            self._claimed |= wanted
            return True

    def _free(self, keys: set[str]) -> None:
        with self._freed:
            for key in keys:
                self._try_byte(key, locked=False)
            self._claimed -= keys
            if not self._claimed:
                self._close()
            self._freed.notify_all()

    def _wait_for_byte(self, key: str) -> None:
        """Lock the byte of a key, trying again as long as another process has it."""
        pause = 0.001
        while not self._try_byte(key, locked=True):
            sleep(pause)
            pause = min(1.5 * pause, 0.05)

    def _try_byte(self, key: str, *, locked: bool) -> bool:
        """Lock or unlock the byte of a key in the lock file; False if another process has it.

        Where files cannot be locked, warn and go on with the claims of threads alone.
        """
        if self._file is None:
            return True
        offset = int.from_bytes(blake2b(key.encode(), digest_size=7).digest(), "big")
        try:
            _lock_byte(self._file, fcntl.F_WRLCK if locked else fcntl.F_UNLCK, offset)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            _warn_without_locks(self.folder, error)
        return True

    def _reset_in_child(self) -> None:
        """Forget the parent's claims. Closing the inherited file leaves its locks as they are."""
        self._claimed = set()
        self._freed = threading.Condition(self._guard)
        self._close()

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if fcntl is None:
                raise OSError("this system has no fcntl")
            self._file = os.open(self.folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            _warn_without_locks(self.folder, error)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _lock_byte(file: int, kind: int, offset: int) -> None:
    """Lock or unlock a byte of a file, for this open file (OFD lock).

    A system that does not know such locks locks it for this process.
    """
    if hasattr(fcntl, "F_OFD_SETLK"):
        flock = struct.pack("hhqqi", kind, os.SEEK_SET, offset, 1, 0)  # struct flock
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, flock)
        return
    command = fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB
    fcntl.lockf(file, command, 1, offset)


_warned: set[Path] = set()
"""The folders about which a warning was given."""


def _warn_without_locks(folder: Path, error: OSError) -> None:
    """Warn, once for each folder, that locks do not work there."""
    if folder not in _warned:
        _warned.add(folder)
        log.warning(
            "%s cannot be locked (%s): two processes may compute the same result, or write the "
            "same files",
            folder,
            error.strerror or error,
        )


_locks: WeakValueDictionary[Path, KeyLocks] = WeakValueDictionary()


def get_locks(folder: Path) -> KeyLocks:
    """Return the locks of a folder: one object in this process, as long as it is in use."""
    folder = folder.resolve()
    with creation_lock:
        locks = _locks.get(folder)
        if locks is None:
            locks = KeyLocks(folder)
            _locks[folder] = locks
        return locks


FOLDER_LOCK = ".convrag.lock"
"""The lock file in a folder that is held."""


@contextmanager
def hold_folder(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a folder, which is created if it is missing, during the block.

    A thread that holds it may hold it again. Where the file system has no locks, a warning says so
    once, nobody is kept apart, and the block is given False.

    Args:
        folder: the folder.
        wait: whether to wait for another process, or thread, that holds it.

    Raises:
        FolderInUse: another process, or thread, holds it, and `wait` is False.
        OSError: the folder cannot be created.
    """
    from filelock import FileLock, Timeout

    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FOLDER_LOCK
    lock = FileLock(
        path,
        is_singleton=True,
        poll_interval=0.1,
        fallback_to_soft=False,
        on_acquired=_write_holder,
    )
    try:
        lock.acquire(timeout=-1 if wait else 0, cancel_check=is_cancelled)
    except Timeout:
        check_cancelled()
        raise FolderInUse(folder, _read_holder(path)) from None
    except OSError as error:
        _warn_without_locks(folder, error)
    is_held = lock.is_locked  # asked here, since another thread cannot

    def remove() -> None:
        if is_held:
            with suppress(OSError):  # Windows does not remove open files
                path.unlink()

    with cleanup_at_exit(remove):
        try:
            yield is_held
        finally:
            if lock.lock_counter == 1:
                remove()
            lock.release()


def _write_holder(file: int) -> None:
    """Write who holds the folder into its lock file.

    The first byte is left out, since others cannot read it on Windows.
    """
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    holder = f"process {os.getpid()} on {platform.node()}, since {since}"
    os.ftruncate(file, 0)
    os.write(file, f"\n{holder}".encode())


def _read_holder(path: Path) -> str:
    """Read who holds a folder; "another process" while the lock file does not say so."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(1)
        return file.read().decode(errors="replace") or "another process"
    return "another process"
