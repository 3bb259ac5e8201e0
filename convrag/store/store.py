"""The store: values (bytes) and folders under keys, which are hashes of all that determines them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from weakref import WeakValueDictionary

from convrag.store.connection import FILE
from convrag.store.entries import Entries
from convrag.store.folders import BuiltFolders
from convrag.store.forking import making
from convrag.store.locks import get_locks
from convrag.store.sqlite_entries import BATCH, SqliteEntries

__all__ = ["BATCH", "FILE", "Store", "get_store"]


class Store:
    """Keeps results in a database, and built folders (indexes) below `path`; safe across threads and processes.

    Files are created at the first use. Methods raise ConfigError where folder or database cannot be used. `get_store`
    gives the store that the stages of this process use.

    Args:
        path: the folder.
        url: the address of a PostgreSQL database for the results ("postgresql+psycopg://user@host/database"), which
            many machines share; each has its own folder. Empty: a SQLite database in the folder.

    Raises:
        ConfigError: it is no such address.
        MissingExtra: the driver of PostgreSQL is not installed.
    """

    def __init__(self, path: Path | str, url: str = "") -> None:
        self.path = Path(path).absolute()
        self.url = url
        self.entries: Entries = _open_entries(self.path, url)
        """The values; `get` returns some."""
        self.folders = BuiltFolders(self.path, get_locks(self.path))
        """The built folders; `folder` returns one."""

    @property
    def name(self) -> str:
        """What messages call the place of the values."""
        return self.entries.name

    def open(self) -> None:
        """Create the folder and the database, unless they exist. Raises ConfigError where they cannot be used."""
        self.entries.open()

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return key -> value. Keys without a value are absent."""
        return {key: value for key, (value, _) in self.entries.find(keys).items()}

    def get_with_seconds(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds it took to compute, 0 if not known). Keys without a value are absent."""
        return self.entries.find(keys)

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float = 0.0) -> set[str]:
        """Store values under their keys, each whole or not at all.

        Args:
            kind: names the kind of value, such as "LiteLLM.complete", for statistics.
            entries: the values by key.
            seconds: the time that computing each of them took; 0 if not known.

        Returns:
            The keys whose values are not kept, since this process has lost its lock on them while it computed, and
            another one has taken it: that one's value counts. Empty but for a server that could not be reached.
        """
        return self.entries.put(kind, entries, float(seconds))

    def get_last_row(self) -> int:
        """Return the row number of the newest entry; see `count_entries_since`."""
        return self.entries.get_last_row()

    def count_entries_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries that any process has added after a row (see `get_last_row`)."""
        return self.entries.count_since(row)

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

        Look into the store again in the block: another thread or process may have put the value there meanwhile. For
        files below `path`, which other machines may not have, `folders.lock` is the right one.
        """
        return self.entries.lock_keys(keys)


def _open_entries(path: Path, url: str) -> Entries:
    if not url:
        return SqliteEntries(path)
    from convrag.store.postgres_entries import get_postgres_entries  # SQLAlchemy takes a while

    return get_postgres_entries(url)


_stores: WeakValueDictionary[tuple[Path, str], Store] = WeakValueDictionary()


def get_store(path: Path | str, url: str | None = None) -> Store:
    """Return the store of a folder, and an address, in this process: one object, for as long as anything refers to it.

    Args:
        path: the folder.
        url: the address of a PostgreSQL database; None or empty for SQLite (see `Store`).
    """
    key = Path(path).resolve(), url or ""
    with making:
        if (store := _stores.get(key)) is None:
            store = _stores[key] = Store(path, url or "")
        return store
