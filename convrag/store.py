"""One content-addressed store on disk: bytes under keys, and folders under keys."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from convrag.claims import claims_of
from convrag.errors import ConfigError

BATCH = 500
"""How many values one statement may name: SQLite's smallest limit is 999."""


class Store:
    """Keeps results (SQLite in WAL mode) and built folders (indexes) below `path`; safe across threads and processes.

    Raises ConfigError where the folder cannot be used.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._open()
            self._execute(
                "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL)"
            )
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"store.path={self.path} cannot be used: {error}. Choose a folder to write to."
            ) from error

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The values of those keys that have one."""
        wanted = list(keys)
        found: dict[str, bytes] = {}
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            found.update(self._execute(f"SELECT key, value FROM entries WHERE key IN ({marks})", batch))
        return found

    def put(self, kind: str, entries: Mapping[str, bytes]) -> None:
        """Keep values under their keys, each whole or not at all; `kind` says what they are, for people who look."""
        rows = [(key, kind, value) for key, value in entries.items()]
        for start in range(0, len(rows), BATCH // 3):
            batch = rows[start : start + BATCH // 3]
            marks = ",".join(["(?, ?, ?)"] * len(batch))
            self._execute(
                f"INSERT OR REPLACE INTO entries (key, kind, value) VALUES {marks}",
                [field for row in batch for field in row],
            )

    def folder(self, kind: str, key: str, build: Callable[[Path], None]) -> Path:
        """The folder of a key, built once by `build(empty folder)`; it appears whole or not at all."""
        folder = self.path / kind / key
        if folder.exists():
            return folder
        with self.claim([f"{kind}/{key}"]):
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

    def claim(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Hold keys while computing their values; waits for whoever holds one, in this process or in another.

        The holder must look into the store again: the value may be there by now.
        """
        return claims_of(self.path).hold(keys)

    def _execute(self, sql: str, values: Sequence[str | bytes] = ()) -> list[tuple[str, bytes]]:
        """One statement, which is a transaction of its own: one of several would stay open while its thread waits for
        the interpreter. With a connection for each of 64 threads, a tenth of the time went into waiting for each other.
        """
        if self._owner != os.getpid():
            self._open()  # this process was forked off: SQLite wants a connection of its own, and it has one thread yet
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def _open(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            self.path / "store.sqlite", timeout=60, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
