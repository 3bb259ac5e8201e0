"""The store's values in an SQLite file: one table of entries, each with a checksum.

A damaged file is renamed aside, and a new one is begun. `read_damaged` reads single entries of the
old one.
"""

import logging
import os
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from pathlib import Path
from typing import Any

from convrag.api.errors import ConfigError, RunStopped
from convrag.concurrency.locks import ForkAware, get_locks
from convrag.store.files import describe_disk_error

log = logging.getLogger(__name__)

FILE = "store.sqlite"
"""The name of the database in the store's folder."""

TIMEOUT = 60
"""Seconds to wait for other processes that use the database."""

BATCH = 500
"""Values in one SQL statement; the lowest limit that SQLite is built with is 999."""

_COLUMNS = ("key", "kind", "value", "seconds", "checksum")
_FIELDS = ", ".join(_COLUMNS)
_TABLE = (
    "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, kind TEXT NOT NULL, "
    "value BLOB NOT NULL, seconds REAL NOT NULL DEFAULT 0, checksum INTEGER)"
)
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
"""SQLite's errors for a damaged file, and for a file with another table; not for a full disk."""

Row = tuple[Any, ...]

FileIdentity = tuple[int, int]
"""Device and inode, which differ for another file under the same name."""


class StoreUnusable(ConfigError, RunStopped):
    """The store cannot be used. That ends a run: no further turn could keep what it costs."""


class SqliteEntries(ForkAware):
    """Keeps values in SQLite, in WAL mode (see `convrag.api.databases.Entries`).

    One connection serves all threads, and a forked child opens its own. With a connection for each
    of 64 threads, a tenth of the time was spent waiting for database locks.

    Args:
        path: the folder of the database. Both are made at the first use.
    """

    _connection: sqlite3.Connection | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path / FILE
        self.name = str(self._file)
        self._opened: FileIdentity | None = None
        self._locks = get_locks(path)
        self._has_warned = False
        super().__init__()

    def __del__(self) -> None:
        if self._connection is not None:
            # Nothing else, since the names of modules are gone when a process ends
            self._connection.close()

    def open(self) -> None:
        """Create the folder and the database, unless they exist."""
        self._execute("SELECT 1")

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds) of the sound entries.

        Damaged entries count as absent, so that they are computed again.
        """
        found: dict[str, tuple[bytes, float]] = {}
        wanted = list(keys)
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            sql = f"SELECT {_FIELDS} FROM entries WHERE key IN ({_make_placeholders(batch)})"
            for row in self._execute(sql, batch):
                key, _, value, seconds, _ = row
                if is_damaged(*row) or key not in batch:
                    self._warn()
                else:
                    found[key] = (value, seconds)
        return found

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> None:
        """Keep values in place of earlier ones, each whole or not at all."""
        rows = [
            (key, kind, value, seconds, compute_checksum(key, kind, value, seconds))
            for key, value in entries.items()
        ]
        size = BATCH // len(_COLUMNS)
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            placeholders = ",".join([f"({_make_placeholders(_COLUMNS)})"] * len(batch))
            values = [field for row in batch for field in row]
            sql = f"INSERT OR REPLACE INTO entries ({_FIELDS}) VALUES {placeholders}"
            self._execute(sql, values)

    def lock_call(self, key: str) -> AbstractContextManager[None]:
        """Return a context that does nothing, since no other machine uses the file."""
        return nullcontext()

    def _prepare_for_fork(self) -> None:
        """Close the connection, which a child must not use or close; the next use opens another."""
        self._disconnect()

    def _execute(self, sql: str, values: Sequence[str | bytes | float] = ()) -> list[Row]:
        """Execute one statement as a transaction and return its rows.

        If the database is damaged, the rows come from a new one. Transactions of several
        statements would stay open while their thread waits for the interpreter.

        Raises:
            StoreUnusable: the database cannot be used.
        """
        file: FileIdentity | None = None
        damage: Exception | None = None
        while True:
            try:
                if damage:
                    self._set_aside(file, damage)
                with self._guard:
                    file = identify(self._file)
                    if self._connection is not None and self._opened == file:
                        return self._connection.execute(sql, values).fetchall()
                self.path.mkdir(parents=True, exist_ok=True)
                # SQLite opens the log by its name. While a file is renamed, that may be another's.
                with self._locks.lock_keys([FILE]), self._guard:
                    file = identify(self._file)
                    return self._connect(file).execute(sql, values).fetchall()
            except (OSError, sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if damage or not _is_damage(error):
                    reason = describe_disk_error(error, self._file)
                    if not reason:
                        reason = f"{error}. Choose a folder to write to."
                    message = f"store.path={self.path} cannot be used: {reason}"
                    raise StoreUnusable(message) from (damage or error)
                damage = error

    def _connect(self, file: FileIdentity | None) -> sqlite3.Connection:
        """Return the connection to the database, which is `file` now; the guard must be held.

        If the database was deleted, or renamed aside by another process, it is a new connection.
        """
        if self._connection is None or self._opened != file:
            self._disconnect()
            self._connection = _open_database(self._file)
            self._opened = identify(self._file)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _set_aside(self, file: FileIdentity | None, error: Exception) -> None:
        """Rename the database, which was `file`, and warn.

        If another thread or process has done so, do nothing. Another process goes on with the old
        file until it notices that the name leads to a new one.
        """
        when = time.strftime("%Y%m%d-%H%M%S")
        aside = self._file.with_name(
            f"{self._file.stem}.damaged-{when}-{secrets.token_hex(2)}{self._file.suffix}"
        )
        with self._locks.lock_keys([FILE]), self._guard:
            self._disconnect()
            if identify(self._file) != file:
                return
            # The log first, since a new database would take it for its own
            for suffix in ("-wal", "-shm", ""):
                part = self._file.with_name(self._file.name + suffix)
                with suppress(FileNotFoundError):
                    part.rename(aside.with_name(aside.name + suffix))
        log.warning(
            "%s was damaged (%s), and is begun anew. task=record task.damaged_store=%s takes over "
            "what can be read",
            self._file,
            error,
            aside,
        )

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: an entry is damaged; it is computed again, as are others like it", self._file
            )


def identify(file: Path) -> FileIdentity | None:
    """Return the identity of a file; None where there is none."""
    try:
        status = os.stat(file)  # noqa: PTH116  (a third of the time; each statement asks)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def read_damaged(file: Path) -> Iterator[tuple[str, str, bytes, float]]:
    """Yield key, kind, value and seconds of the entries of a damaged database that SQLite can read.

    Raises:
        sqlite3.Error: it can read none.
    """
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = _decode
        ((last,),) = connection.execute("SELECT coalesce(max(rowid), 0) FROM entries").fetchall()
        last = min(last, file.stat().st_size)  # a damaged number may be far too large
        sql = f"SELECT {_FIELDS} FROM entries WHERE rowid = ?"
        for number in range(1, last + 1):
            with suppress(sqlite3.Error):
                for row in connection.execute(sql, [number]):
                    if not is_damaged(*row):
                        yield row[:4]


def compute_checksum(key: str, kind: str, value: bytes, seconds: float) -> int:
    """Compute the checksum of an entry.

    It covers the key, since a value under the wrong key is damage too.
    """
    return zlib.crc32(value, zlib.crc32(f"{key} {kind} {seconds!r}".encode()))


def is_damaged(key: object, kind: object, value: object, seconds: object, checksum: object) -> bool:
    """Whether the fields of an entry do not fit its checksum."""
    are_texts = isinstance(key, str) and isinstance(kind, str)
    if not (are_texts and isinstance(value, bytes) and isinstance(seconds, float)):
        return True
    return compute_checksum(str(key), str(kind), value, seconds) != checksum


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode.

    SQLite does not wait here for another connection that does so too, so this tries again.
    """
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _open_database(file: Path) -> sqlite3.Connection:
    """Open the database, and create its table unless it exists. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        file, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = _decode
    try:
        switch_to_wal(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA cell_size_check=ON")  # damage is seen earlier
        connection.execute(_TABLE)
        connection.execute(f"SELECT {_FIELDS} FROM entries LIMIT 0")
    except BaseException:
        connection.close()
        raise
    return connection


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")  # a damaged text does not fit its checksum


def _is_damage(error: Exception) -> bool:
    if isinstance(error, UnicodeDecodeError):  # SQLite's message quotes a damaged name
        return True
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_IOERR_SHORT_READ


def _make_placeholders(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
