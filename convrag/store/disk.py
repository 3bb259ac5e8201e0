"""What is said where files cannot be written: the disk is full, a folder is read-only, too many files are open."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from convrag.api.errors import ConvragError, RunStopped
from convrag.api.records import EXIT_STATUS

_UNOPENED = -1
"""In place of a number, which SQLite does not tell where it cannot open a file."""

_ROOM = "Make room there, or choose another folder"
_RIGHTS = "Choose a folder that you may write to"
_REASONS = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("the quota of the disk is used up", _ROOM),
    errno.EFBIG: ("the file would be larger than this process may write (ulimit -f)", "Allow more"),
    errno.EROFS: ("the file system is read-only", _RIGHTS),
    errno.EACCES: ("you have no right to", _RIGHTS),
    errno.EPERM: ("you have no right to", _RIGHTS),
    errno.EMFILE: ("this process may open no more files", "Allow more (ulimit -n), or lower `workers`"),
    errno.ENFILE: ("the system may open no more files", "Close other programs, or lower `workers`"),
    errno.EIO: ("the disk reports an error", "Choose a folder on another disk"),
    _UNOPENED: (
        "SQLite cannot open it",
        "See that its folder is there and is yours, and that this process may open more files (ulimit -n)",
    ),
}
"""The number of an error -> the reason, and what to do."""

_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: _UNOPENED,
}


class DiskError(RunStopped):
    """A file cannot be written; the message names it, and says what to do. The command ends with `exit_status`."""

    exit_status = EXIT_STATUS["failed"]


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Raise DiskError, which names this path, where the disk is why a file cannot be written in the block."""
    try:
        yield
    except ConvragError:
        raise
    except Exception as error:  # a library's own, which the disk's led to
        if message := describe_disk_error(error, path):
            raise DiskError(message) from error
        raise


def describe_disk_error(error: BaseException | None, path: Path | str = "") -> str:
    """Say which file cannot be written, why, and what to do; empty for an error that has another cause than the disk.

    Args:
        error: the error; those that led to it are looked at, too.
        path: what was written, for errors that do not know.
    """
    while error is not None:
        if isinstance(error, DiskError):
            return str(error)
        number = error.errno if isinstance(error, OSError) else _SQLITE.get(_read_sqlite_code(error), 0)
        if number in _REASONS:
            reason, advice = _REASONS[number]
            place = getattr(error, "filename", None) or path or "a file of this command"
            return f"{place} cannot be written: {reason}. {advice}: the same command goes on from what is kept."
        error = error.__cause__ or error.__context__
    return ""


def _read_sqlite_code(error: BaseException) -> int:
    """The primary code of an error of SQLite, without the digits of its extended codes; 0 of other errors."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0
