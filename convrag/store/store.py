"""One content-addressed store on disk: bytes under keys, and folders under keys."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from convrag.api.errors import ConfigError
from convrag.store.locks import locks_of

FILE = "store.sqlite"
"""The database's name in the store's folder."""

BATCH = 500
"""How many values one statement may name: SQLite's smallest limit is 999."""


class Store:
    """Keeps results (SQLite in WAL mode) and built folders (indexes) below `path`; safe across threads and processes.

    Nothing is made on disk before it is used. Methods raise ConfigError where the folder cannot be used.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self._opened: _Opened | None = None

    def open(self) -> None:
        """Make the folder and the database, where they are not there. Raises ConfigError where they cannot be used."""
        self._connected()

    def _connected(self) -> _Opened:
        """The connection of this process: SQLite wants one of its own for a process that was forked off."""
        if self._opened is not None and self._opened.owner == os.getpid():
            return self._opened
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._opened = _open(self.path / FILE)
            return self._opened
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"store.path={self.path} cannot be used: {error}. Choose a folder to write to."
            ) from error

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The values of those keys that have one."""
        return {key: value for key, (value, _) in self.get_timed(keys).items()}

    def get_timed(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """The same, each with the seconds that it took to compute: 0 where nobody knows."""
        wanted = list(keys)
        found: dict[str, tuple[bytes, float]] = {}
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            rows = self._execute(f"SELECT key, value, seconds FROM entries WHERE key IN ({marks})", batch)
            found.update((key, (value, seconds)) for key, value, seconds in rows)
        return found

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float = 0.0) -> None:
        """Keep values under their keys, each whole or not at all.

        Args:
            kind: what they are, for people who look.
            entries: the values by key.
            seconds: what each of them took to compute, where that is known.
        """
        rows = [(key, kind, value, seconds) for key, value in entries.items()]
        for start in range(0, len(rows), BATCH // 4):
            batch = rows[start : start + BATCH // 4]
            marks = ",".join(["(?, ?, ?, ?)"] * len(batch))
            self._execute(
                f"INSERT OR REPLACE INTO entries (key, kind, value, seconds) VALUES {marks}",
                [field for row in batch for field in row],
            )

    def last_row(self) -> int:
        """Where the store stands now; see `gained`."""
        ((_, last),) = self._execute("SELECT '', coalesce(max(rowid), 0) FROM entries")
        return int(last)

    def count_since(self, since: int) -> dict[str, int]:
        """How many entries came since a mark, from whichever process, by kind."""
        found = self._execute("SELECT kind, count(*) FROM entries WHERE rowid > ? GROUP BY kind ORDER BY kind", [since])
        return {kind: int(count) for kind, count in found}

    def folder(self, kind: str, key: str, build: Callable[[Path], None]) -> Path:
        """The folder of a key, built once by `build(empty folder)`; it appears whole or not at all."""
        self.open()
        folder = self.path / kind / key
        if folder.exists():
            return folder
        with self.lock([f"{kind}/{key}"]):
            if not folder.exists():
                unfinished = folder.with_name(f"{key}.unfinished")
                shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed: we hold the claim
                unfinished.mkdir(parents=True)
                try:
                    build(unfinished)
                except BaseException:
                    shutil.rmtree(unfinished, ignore_errors=True)
                    raise
                unfinished.rename(folder)
        return folder

    def lock(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Hold keys while computing their values; waits for whoever holds one, in this process or in another.

        The holder must look into the store again: the value may be there by now.
        """
        self.open()
        return locks_of(self.path).hold(keys)

    def _execute(self, sql: str, values: Sequence[str | bytes | float] = ()) -> list[tuple[Any, ...]]:
        """One statement, which is a transaction of its own: one of several would stay open while its thread waits for
        the interpreter. With a connection for each of 64 threads, a tenth of the time went into waiting for each other.
        """
        opened = self._connected()
        with opened.lock:
            return opened.connection.execute(sql, values).fetchall()


class _Opened(NamedTuple):
    """A connection with the process that made it; one thread at a time may use it."""

    owner: int
    lock: threading.Lock
    connection: sqlite3.Connection


def _open(file: Path) -> _Opened:
    connection = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL, "
        "seconds REAL NOT NULL DEFAULT 0)"
    )
    with suppress(sqlite3.OperationalError):  # it has that column, unless it was made before there was one
        connection.execute("ALTER TABLE entries ADD COLUMN seconds REAL NOT NULL DEFAULT 0")
    return _Opened(os.getpid(), threading.Lock(), connection)
