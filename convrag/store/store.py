"""The store on disk: values (bytes) and folders under keys, which are hashes of all that determines them."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from convrag.api.errors import ConfigError
from convrag.store.forking import ForkAware, making
from convrag.store.locks import get_locks, warn_without_fcntl

FILE = "store.sqlite"
"""The database's name in the store's folder."""

TIMEOUT = 60
"""Seconds to wait for other processes that use the database."""

BATCH = 500
"""Values in one SQL statement; the lowest limit that SQLite is built with is 999."""


class Store(ForkAware):
    """Keeps results (SQLite in WAL mode) and built folders (indexes) below `path`; safe across threads and processes.

    Files are created at the first use. Methods raise ConfigError where the folder cannot be used. `get_store` gives the
    store that the stages of this process use.
    """

    _connection: sqlite3.Connection | None = None

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self._locks = get_locks(self.path)
        super().__init__()

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def open(self) -> None:
        """Create the folder and the database, unless they exist. Raises ConfigError where they cannot be used."""
        warn_without_fcntl()
        with self._guard:
            if not (self.path / FILE).exists():  # it was deleted, or there was none yet
                self._disconnect()
            self._connect()

    def _prepare_for_fork(self) -> None:
        """Close the connection: SQLite allows no child to use or close an inherited one. The next use opens another."""
        self._disconnect()

    def _connect(self) -> sqlite3.Connection:
        """Return the connection; the guard must be held.

        One connection serves all threads: with one for each of 64 threads, a tenth of the time was spent waiting for
        database locks.
        """
        if self._connection is None:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._connection = _open_database(self.path / FILE)
            except (OSError, sqlite3.Error) as error:
                raise ConfigError(
                    f"store.path={self.path} cannot be used: {error}. Choose a folder to write to."
                ) from error
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return key -> value. Keys without a value are absent."""
        return {key: value for key, (value, _) in self.get_with_seconds(keys).items()}

    def get_with_seconds(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds it took to compute, 0 if not known). Keys without a value are absent."""
        wanted = list(keys)
        found: dict[str, tuple[bytes, float]] = {}
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            rows = self._execute(f"SELECT key, value, seconds FROM entries WHERE key IN ({marks})", batch)
            found.update((key, (value, seconds)) for key, value, seconds in rows)
        return found

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float = 0.0) -> None:
        """Store values under their keys, each whole or not at all.

        Args:
            kind: names the kind of value, such as "LiteLLM.complete", for statistics.
            entries: the values by key.
            seconds: the time that computing each of them took; 0 if not known.
        """
        rows = [(key, kind, value, seconds) for key, value in entries.items()]
        for start in range(0, len(rows), BATCH // 4):
            batch = rows[start : start + BATCH // 4]
            marks = ",".join(["(?, ?, ?, ?)"] * len(batch))
            self._execute(
                f"INSERT OR REPLACE INTO entries (key, kind, value, seconds) VALUES {marks}",
                [field for row in batch for field in row],
            )

    def get_last_row(self) -> int:
        """Return the row number of the newest entry; see `count_entries_since`."""
        ((_, last),) = self._execute("SELECT '', coalesce(max(rowid), 0) FROM entries")
        return int(last)

    def count_entries_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries that any process has added after a row (see `get_last_row`)."""
        counts = self._execute("SELECT kind, count(*) FROM entries WHERE rowid > ? GROUP BY kind ORDER BY kind", [row])
        return {kind: int(count) for kind, count in counts}

    def folder(self, kind: str, key: str, build: Callable[[Path], None]) -> Path:
        """Return the folder of a key; `build(empty folder)` fills it once. A build that fails leaves no folder."""
        self.open()
        folder = self.path / kind / key
        if folder.exists():
            return folder
        with self.lock([f"{kind}/{key}"]):
            if not folder.exists():
                unfinished = folder.with_name(f"{key}.unfinished")
                shutil.rmtree(unfinished, ignore_errors=True)  # left by a process that was killed: we hold the lock
                unfinished.mkdir(parents=True)
                try:
                    build(unfinished)
                except BaseException:
                    shutil.rmtree(unfinished, ignore_errors=True)
                    raise
                unfinished.rename(folder)
        return folder

    def lock(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys while their values are computed; waits while another thread or process has locked one of them.

        Look into the store again in the block: another thread or process may have put the value there meanwhile.
        """
        self.open()
        return self._locks.lock_keys(keys)

    def _execute(self, sql: str, values: Sequence[str | bytes | float] = ()) -> list[tuple[Any, ...]]:
        """Execute one statement as a transaction and return its rows.

        Transactions of several statements would stay open while their thread waits for the interpreter.
        """
        with self._guard:
            return self._connect().execute(sql, values).fetchall()


_stores: WeakValueDictionary[Path, Store] = WeakValueDictionary()


def get_store(path: Path | str) -> Store:
    """Return the store of a folder in this process: one object, for as long as anything refers to it."""
    folder = Path(path).resolve()
    with making:
        if (store := _stores.get(folder)) is None:
            store = _stores[folder] = Store(path)
        return store


def _open_database(file: Path) -> sqlite3.Connection:
    """Open the database, and create its table unless it exists."""
    connection = sqlite3.connect(file, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        _prepare_database(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare_database(connection: sqlite3.Connection) -> None:
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL, "
        "seconds REAL NOT NULL DEFAULT 0)"
    )
    with suppress(sqlite3.OperationalError):  # the column exists, unless an early version made the table
        connection.execute("ALTER TABLE entries ADD COLUMN seconds REAL NOT NULL DEFAULT 0")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. SQLite does not wait here for another connection that does so too: try again meanwhile."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
