"""Folders that this process uses are held, so that no other process removes them meanwhile."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment,unused-ignore]


class FolderHolds:
    """The folders that this object holds until it is dropped, or its process ends; several processes may hold one.

    A hold is a shared lock (flock) on the folder itself, which the system frees when a process is killed. Forked
    children hold what their parent held. Where the system knows no such locks nothing is held, and nothing removed.
    """

    def __init__(self) -> None:
        self._files: dict[Path, int] = {}
        self._guard = threading.Lock()
        weakref.finalize(self, _close_all, self._files)

    def hold(self, folder: Path) -> bool:
        """Hold a folder; False where it is not there any more, because another process has just removed it."""
        if fcntl is None:
            return folder.is_dir()
        with self._guard:
            if folder in self._files and _is_same(self._files[folder], folder):
                return True
            try:
                file = os.open(folder, os.O_RDONLY)
            except OSError:
                return folder.is_dir()  # it can be read, perhaps, and not be locked
            with suppress(OSError):  # a file system without locks: nobody can remove it either
                fcntl.flock(file, fcntl.LOCK_SH)
            if not _is_same(file, folder):
                os.close(file)
                return False
            if (before := self._files.pop(folder, None)) is not None:
                os.close(before)
            self._files[folder] = file
            return True

    def release(self) -> None:
        """Let go of all folders."""
        with self._guard:
            _close_all(self._files)


@contextmanager
def hold_briefly(folder: Path) -> Iterator[bool]:
    """Hold a folder in a block, to read it; False where it is gone."""
    holds = FolderHolds()
    try:
        yield holds.hold(folder)
    finally:
        holds.release()


def try_removing(folder: Path) -> bool:
    """Remove a folder that nobody holds. False where it is still there.

    It is renamed first, so that nobody finds half of it.
    """
    from shutil import rmtree

    doomed = folder.with_name(f"{folder.name}.superseded")
    rmtree(doomed, ignore_errors=True)  # left by a process that was killed
    if not folder.exists():
        return True
    if fcntl is None:
        return False
    try:
        file = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rename(doomed)
    except OSError:  # somebody holds it, or the file system has no locks, or it is not ours
        return False
    finally:
        os.close(file)
    rmtree(doomed, ignore_errors=True)
    return True


def _is_same(file: int, folder: Path) -> bool:
    """Whether an open folder is the one that has this path now."""
    try:
        return os.path.samestat(os.fstat(file), folder.stat())
    except OSError:
        return False


def _close_all(files: dict[Path, int]) -> None:
    for file in files.values():
        with suppress(OSError):
            os.close(file)
    files.clear()
