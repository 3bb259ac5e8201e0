"""The store on disk: values (bytes) and folders under keys, which are hashes of all that determines them."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from convrag.api.errors import ConfigError
from convrag.store.database import COLUMNS, compute_checksum, is_damaged, open_database
from convrag.store.locks import get_locks
from convrag.store.manifest import find_damage, write_manifest
from convrag.store.salvage import FileIdentity, identify, is_damage, replace_damaged

log = logging.getLogger(__name__)

FILE = "store.sqlite"
"""The database's name in the store's folder."""

BATCH = 500
"""Values in one SQL statement; the lowest limit that SQLite is built with is 999."""

_FIELDS = ", ".join(COLUMNS)


class Store:
    """Keeps results (SQLite in WAL mode) and built folders (indexes) below `path`; safe across threads and processes.

    Files are created at the first use. Methods raise ConfigError where the folder cannot be used.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self._file = self.path / FILE
        self._connection: _Connection | None = None
        self._connecting = threading.Lock()
        self._dropping = threading.Lock()

    def open(self) -> None:
        """Create the folder and the database, unless they exist. Raises ConfigError where they cannot be used."""
        self._execute("SELECT 1")

    def _connect(self) -> _Connection:
        """Return the connection of this process; a forked process needs a new one, as SQLite demands.

        So does a process whose database was deleted, or was damaged and replaced by another process.
        """
        if (connection := self._connection) is not None and self._is_current(connection):
            return connection
        with self._connecting:
            if self._connection is None or not self._is_current(self._connection):
                self.path.mkdir(parents=True, exist_ok=True)
                database = open_database(self._file)
                self._connection = _Connection(os.getpid(), threading.Lock(), database, identify(self._file))
            return self._connection

    def _is_current(self, connection: _Connection) -> bool:
        return connection.process == os.getpid() and connection.file == identify(self._file)

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return key -> value. Keys without a value are absent."""
        return {key: value for key, (value, _) in self.get_with_seconds(keys).items()}

    def get_with_seconds(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds it took to compute, 0 if not known). Keys without a value are absent."""
        wanted = list(keys)
        found, is_whole = self._find(wanted)
        if not is_whole:
            self._drop_damaged(wanted)
            found, _ = self._find(wanted)  # another process may have computed some of them again
        return found

    def _find(self, wanted: Sequence[str]) -> tuple[dict[str, tuple[bytes, float]], bool]:
        """Return key -> (value, seconds) of the sound entries, and whether all that were read are sound."""
        found: dict[str, tuple[bytes, float]] = {}
        is_whole = True
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            for row in self._execute(f"SELECT {_FIELDS} FROM entries WHERE key IN ({marks})", batch):
                key, _, value, seconds, _ = row
                if is_damaged(*row) or key not in batch:
                    is_whole = False
                else:
                    found[key] = (value, seconds)
        return found, is_whole

    def _drop_damaged(self, wanted: Sequence[str]) -> None:
        """Delete all damaged entries and warn once, unless another thread has done so."""
        with self._dropping:
            if self._find(wanted)[1]:
                return
            file = identify(self._file)
            rows = self._execute(f"SELECT rowid FROM entries WHERE is_damaged({_FIELDS})")
            if not rows:
                self._replace_damaged(file, sqlite3.DatabaseError("a key leads to another key's entry"))
                return
            for (row,) in rows:
                self._execute(f"DELETE FROM entries WHERE rowid = ? AND is_damaged({_FIELDS})", [row])
            log.warning("%s: %d of its entries were damaged; what they held is computed again", self._file, len(rows))

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float = 0.0) -> None:
        """Store values under their keys, each whole or not at all.

        Args:
            kind: names the kind of value, such as "LiteLLM.complete", for statistics.
            entries: the values by key.
            seconds: the time that computing each of them took; 0 if not known.
        """
        seconds = float(seconds)
        rows = [
            (key, kind, value, seconds, compute_checksum(key, kind, value, seconds)) for key, value in entries.items()
        ]
        for start in range(0, len(rows), BATCH // len(COLUMNS)):
            batch = rows[start : start + BATCH // len(COLUMNS)]
            file = identify(self._file)
            self._insert(batch)
            if not self._holds([key for key, *_ in batch]):  # a damaged index of keys takes entries that nobody finds
                self._replace_damaged(file, sqlite3.DatabaseError("an entry is not found by its key"))
                self._insert(batch)

    def _insert(self, rows: Sequence[tuple[str, str, bytes, float, int]]) -> None:
        marks = ",".join([f"({','.join('?' * len(COLUMNS))})"] * len(rows))
        self._execute(
            f"INSERT OR REPLACE INTO entries ({_FIELDS}) VALUES {marks}", [field for row in rows for field in row]
        )

    def _holds(self, keys: Sequence[str]) -> bool:
        marks = ",".join("?" * len(keys))
        ((count,),) = self._execute(f"SELECT count(*) FROM entries WHERE key IN ({marks})", keys)
        return bool(count == len(keys))

    def get_last_row(self) -> int:
        """Return the row number of the newest entry; see `count_entries_since`."""
        ((_, last),) = self._execute("SELECT '', coalesce(max(rowid), 0) FROM entries")
        return int(last)

    def count_entries_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries that any process has added after a row (see `get_last_row`)."""
        counts = self._execute("SELECT kind, count(*) FROM entries WHERE rowid > ? GROUP BY kind ORDER BY kind", [row])
        return {kind: int(count) for kind, count in counts}

    def folder(self, kind: str, key: str, build: Callable[[Path], None]) -> Path:
        """Return the folder of a key; `build(empty folder)` fills it once. A build that fails leaves no folder.

        A folder whose files are not those that were built is built again (see `convrag.store.manifest`). A process that
        has opened the damaged files keeps them.
        """
        self.open()
        folder = self.path / kind / key
        if folder.exists() and not find_damage(folder):
            return folder
        with self.lock([f"{kind}/{key}"]):
            damage = find_damage(folder) if folder.exists() else ""
            if folder.exists() and not damage:
                return folder  # another process has built it
            if damage:
                log.warning("%s: %s; it is built again", folder, damage)
            unfinished, damaged = (folder.with_name(f"{key}.{suffix}") for suffix in ("unfinished", "damaged"))
            for left in (unfinished, damaged):  # by a process that was killed: we hold the lock
                shutil.rmtree(left, ignore_errors=True)
            unfinished.mkdir(parents=True)
            try:
                build(unfinished)
                write_manifest(unfinished)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
            if damage:
                folder.rename(damaged)
            unfinished.rename(folder)
            shutil.rmtree(damaged, ignore_errors=True)
        return folder

    def lock(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys while their values are computed; waits while another thread or process has locked one of them.

        Look into the store again in the block: another thread or process may have put the value there meanwhile.
        """
        self.open()
        return get_locks(self.path).lock_keys(keys)

    def _execute(self, sql: str, values: Sequence[str | bytes | float] = ()) -> list[tuple[Any, ...]]:
        """Execute one statement as a transaction and return its rows; a damaged database is replaced first.

        Transactions of several statements would stay open while their thread waits for the interpreter. One connection
        serves all threads: with one for each of 64 threads, a tenth of the time was spent waiting for database locks.

        Raises:
            ConfigError: the database cannot be used.
        """
        before = identify(self._file)
        try:
            return self._execute_once(sql, values)
        except (OSError, sqlite3.DatabaseError) as error:
            self._replace_damaged(before, error)
        try:
            return self._execute_once(sql, values)
        except (OSError, sqlite3.DatabaseError) as error:
            raise self._make_error(error) from error

    def _execute_once(self, sql: str, values: Sequence[str | bytes | float]) -> list[tuple[Any, ...]]:
        opened = self._connect()
        with opened.lock:
            return opened.connection.execute(sql, values).fetchall()

    def _replace_damaged(self, file: FileIdentity | None, error: Exception) -> None:
        """Replace the database, which was `file`, if the error says that it is damaged. Raises ConfigError if not."""
        if not is_damage(error, self._file):
            raise self._make_error(error) from error
        try:
            with get_locks(self.path).lock_keys([FILE]):
                replace_damaged(self._file, file, error)
        except (OSError, sqlite3.DatabaseError) as obstacle:
            raise self._make_error(obstacle) from error

    def _make_error(self, error: Exception) -> ConfigError:
        return ConfigError(f"store.path={self.path} cannot be used: {error}. Choose a folder to write to.")


class _Connection(NamedTuple):
    """A connection to the database: its process, the lock that a thread needs to use it, and the file it has open."""

    process: int
    lock: threading.Lock
    connection: sqlite3.Connection
    file: FileIdentity | None
