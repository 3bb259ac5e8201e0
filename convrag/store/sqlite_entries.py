"""The store's values in SQLite, in a file of the store's folder; locks are those of a file beside it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from convrag.store.connection import DatabaseConnection, Statement
from convrag.store.database import COLUMNS, compute_checksum, is_damaged
from convrag.store.locks import warn_without_fcntl
from convrag.store.salvage import identify

log = logging.getLogger(__name__)

BATCH = 500
"""Values in one SQL statement; the lowest limit that SQLite is built with is 999."""

_FIELDS = ", ".join(COLUMNS)


class SqliteEntries(DatabaseConnection):
    """Keeps values in SQLite, in WAL mode (see `convrag.store.entries.Entries`)."""

    @property
    def name(self) -> str:
        """The database's file."""
        return str(self._file)

    def open(self) -> None:
        """Create the folder and the database, unless they exist."""
        warn_without_fcntl()
        self._execute("SELECT 1")

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds) of the sound entries; damaged ones are deleted."""
        wanted = list(keys)
        found, is_whole = self._find(wanted)
        if not is_whole:
            self._drop_damaged(wanted)
            found, _ = self._find(wanted)  # another process may have computed some of them again
        return found

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> set[str]:
        """Keep values. None is refused: a process loses no lock of a file while it runs."""
        rows = [
            (key, kind, value, seconds, compute_checksum(key, kind, value, seconds)) for key, value in entries.items()
        ]
        for start in range(0, len(rows), BATCH // len(COLUMNS)):
            batch = rows[start : start + BATCH // len(COLUMNS)]
            (_, ((count,),)), file = self._execute_each(_insert(batch), _count([key for key, *_ in batch]))
            if count != len(batch):  # a damaged index of keys takes entries that nobody finds
                self._replace_damaged(file, sqlite3.DatabaseError("an entry is not found by its key"))
                self._execute(*_insert(batch))
        return set()

    def lock_keys(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys during the block."""
        if self._connection is None:
            self.open()
        return self._locks.lock_keys(keys)

    def get_last_row(self) -> int:
        """Return the row number of the newest entry."""
        ((_, last),) = self._execute("SELECT '', coalesce(max(rowid), 0) FROM entries")
        return int(last)

    def count_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries after a row."""
        counts = self._execute("SELECT kind, count(*) FROM entries WHERE rowid > ? GROUP BY kind ORDER BY kind", [row])
        return {kind: int(count) for kind, count in counts}

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
        with self._locks.lock_keys(["damaged entries"]):
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


def _insert(rows: Sequence[tuple[str, str, bytes, float, int]]) -> Statement:
    marks = ",".join([f"({','.join('?' * len(COLUMNS))})"] * len(rows))
    return f"INSERT OR REPLACE INTO entries ({_FIELDS}) VALUES {marks}", [field for row in rows for field in row]


def _count(keys: Sequence[str]) -> Statement:
    return f"SELECT count(*) FROM entries WHERE key IN ({','.join('?' * len(keys))})", keys
