"""A damaged database is replaced by a new one with all entries that can be read, and stays beside it."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from convrag.store.database import COLUMNS, is_damaged, open_database

log = logging.getLogger(__name__)

_RANGE = 256
"""Rows that are read at once; where that fails, half as many, down to one."""

_LEAST_ROW = 64
"""Bytes that an entry takes at least, to say how many rows a file can hold where SQLite cannot."""

_CODE = 0xFF
"""The bits of an SQLite error code without its extension."""

# These are no damage, and another file would not cure them: a full disk, a process that holds the database too long ...
_NOT_DAMAGE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}

Row = tuple[Any, ...]

_MISSING: Row = ("", "", b"", 0.0, None)
"""The values of columns that a store of an early version lacks; it has the first three at least."""


class FileIdentity(NamedTuple):
    """What tells a file from another one that took its place under the same name."""

    device: int
    inode: int


def identify(file: Path) -> FileIdentity | None:
    """Return the identity of a file; None where there is none."""
    try:
        status = os.stat(file)  # noqa: PTH116  (a third of the time; each statement asks)
    except OSError:
        return None
    return FileIdentity(status.st_dev, status.st_ino)


def is_damage(error: Exception, file: Path) -> bool:
    """Whether an error says that the database is damaged, and not the disk full or the like."""
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.ProgrammingError):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # a text that is no UTF-8
        return True
    if code & _CODE == sqlite3.SQLITE_IOERR:
        return bool(code == sqlite3.SQLITE_IOERR_SHORT_READ)
    if code & _CODE == sqlite3.SQLITE_READONLY:  # a flipped bit of the header says so, too
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
    return code & _CODE not in _NOT_DAMAGE


def replace_damaged(file: Path, opened: FileIdentity | None, error: Exception) -> None:
    """Replace a damaged database by a new one with its readable entries, and warn. The caller has locked the file.

    Another process may use the damaged file meanwhile: it keeps it open, under its new name, until it reads the damage
    itself or writes an entry.

    Args:
        file: the database.
        opened: the file that was found to be damaged; where it was replaced already, nothing is done.
        error: what SQLite said of it.

    Raises:
        OSError, sqlite3.Error: there is no room for the new one, or the folder cannot be written to.
    """
    if opened is None or identify(file) != opened:
        return
    new = file.with_name(f"{file.name}.salvaged")
    _remove(new)
    saved = _copy_entries(file, new)
    aside = file.with_name(f"{file.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}{file.suffix}")
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            _add_suffix(file, suffix).rename(_add_suffix(aside, suffix))
    try:
        os.link(file, aside)  # there is a database under the name at any time
    except OSError:
        file.rename(aside)
    new.replace(file)
    log.warning(
        "%s was damaged (%s): %d entries could be read and are kept, the others are computed again. The damaged file "
        "is now %s, for you to delete",
        file,
        error,
        saved,
        aside.name,
    )


def _copy_entries(damaged: Path, new: Path) -> int:
    """Copy the readable entries into a new database; return how many there are."""
    marks = ",".join("?" * len(COLUMNS))
    with closing(open_database(new)) as target:
        target.execute("BEGIN")
        for row in _read_entries(damaged):
            target.execute(f"INSERT OR REPLACE INTO entries ({', '.join(COLUMNS)}) VALUES ({marks})", row)
        target.execute("COMMIT")
        return int(target.execute("SELECT count(*) FROM entries").fetchone()[0])


def _read_entries(damaged: Path) -> Iterator[Row]:
    """Yield the entries that can be read; where the first page cannot, from a copy with that of a new database."""
    if _can_read(damaged):
        yield from _read_rows(damaged)
        return
    copy = damaged.with_name(f"{damaged.name}.copy")
    _remove(copy)
    try:
        shutil.copyfile(damaged, copy)
        with suppress(FileNotFoundError):
            shutil.copyfile(_add_suffix(damaged, "-wal"), _add_suffix(copy, "-wal"))
        _mend_first_page(copy)
        yield from _read_rows(copy)
    finally:
        _remove(copy)


def _can_read(file: Path) -> bool:
    with closing(sqlite3.connect(file)) as connection, suppress(sqlite3.Error):
        connection.execute("SELECT key, kind, value FROM entries LIMIT 0").fetchall()
        return True
    return False


def _mend_first_page(file: Path) -> None:
    """Replace the first page by that of a new database. It says what tables there are, which is the same in each."""
    template = file.with_name(f"{file.name}.template")
    _remove(template)
    try:
        with closing(open_database(template)) as connection:
            size = int(connection.execute("PRAGMA page_size").fetchone()[0])
        page = bytearray(template.read_bytes()[:size])
    finally:
        _remove(template)
    page[92:96] = bytes(4)  # so that the number of pages is that of the file, not that of the template
    with file.open("r+b") as opened:
        opened.write(page)


def _read_rows(file: Path) -> Iterator[Row]:
    """Yield the sound entries of all rows that SQLite can read."""
    with closing(sqlite3.connect(file)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        for first in range(1, _find_last_row(connection, file) + 1, _RANGE):
            for row in _read_range(connection, first, first + _RANGE - 1):
                if not is_damaged(*(full := row + _MISSING[len(row) :])):
                    yield full


def _find_last_row(connection: sqlite3.Connection, file: Path) -> int:
    most = file.stat().st_size // _LEAST_ROW
    with suppress(sqlite3.Error, TypeError):
        return min(int(connection.execute("SELECT max(rowid) FROM entries").fetchone()[0]), 100 * most)
    return most


def _read_range(connection: sqlite3.Connection, first: int, last: int) -> list[Row]:
    """Read the rows with numbers from `first` to `last`, leaving out those that cannot be read."""
    where = "rowid BETWEEN ? AND ?" if first < last else "rowid = ?"  # the former looks at the row that follows, too
    try:
        return connection.execute(f"SELECT * FROM entries WHERE {where}", sorted({first, last})).fetchall()
    except sqlite3.Error:
        if first == last:
            return []
    middle = (first + last) // 2
    return _read_range(connection, first, middle) + _read_range(connection, middle + 1, last)


def _add_suffix(file: Path, suffix: str) -> Path:
    return file.with_name(f"{file.name}{suffix}")


def _remove(file: Path) -> None:
    """Remove a database, with the files that SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        _add_suffix(file, suffix).unlink(missing_ok=True)
