"""The store on disk: values (bytes) and folders under keys, which are hashes of all that determines them."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from weakref import WeakValueDictionary

from convrag.store.connection import FILE, DatabaseConnection
from convrag.store.database import COLUMNS, compute_checksum, is_damaged
from convrag.store.folders import BuiltFolders
from convrag.store.forking import making
from convrag.store.locks import warn_without_fcntl
from convrag.store.salvage import identify

__all__ = ["BATCH", "FILE", "Store", "get_store"]

log = logging.getLogger(__name__)

BATCH = 500
"""Values in one SQL statement; the lowest limit that SQLite is built with is 999."""

_FIELDS = ", ".join(COLUMNS)


class Store(DatabaseConnection):
    """Keeps results (SQLite in WAL mode) and built folders (indexes) below `path`; safe across threads and processes.

    Files are created at the first use. Methods raise ConfigError where the folder cannot be used. `get_store` gives the
    store that the stages of this process use.
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.folders = BuiltFolders(self.path, self._locks.lock_keys)
        """The built folders; `folder` returns one."""

    def open(self) -> None:
        """Create the folder and the database, unless they exist. Raises ConfigError where they cannot be used."""
        warn_without_fcntl()
        self._execute("SELECT 1")

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

    def folder(self, kind: str, key: str, build: Callable[[Path], None], *, series: str = "") -> Path:
        """Return the folder of a key; `build(empty folder)` fills it once. A build that fails leaves no folder.

        A folder whose files are not those that were built is built again (see `convrag.store.manifest`). A process that
        has opened the damaged files keeps them. The folder is held: no process removes it while this one runs.

        Args:
            kind: names the kind of folder, such as "indexes".
            key: a hash of all that determines what is in it.
            build: fills the empty folder that it is given.
            series: what the folder has in common with those that it supersedes (see `BuiltFolders`): an index of a data
                set supersedes that of the same data set before its files changed. Empty: it supersedes none.
        """
        self.open()
        return self.folders.get(kind, key, build, series)

    def lock(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys while their values are computed; waits while another thread or process has locked one of them.

        Look into the store again in the block: another thread or process may have put the value there meanwhile.
        """
        self.open()
        return self._locks.lock_keys(keys)


_stores: WeakValueDictionary[Path, Store] = WeakValueDictionary()


def get_store(path: Path | str) -> Store:
    """Return the store of a folder in this process: one object, for as long as anything refers to it."""
    folder = Path(path).resolve()
    with making:
        if (store := _stores.get(folder)) is None:
            store = _stores[folder] = Store(path)
        return store
