"""The store: values (bytes) and folders, each under a hash of all that determines it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from convrag.api.databases import Database, Entries
from convrag.api.errors import ConfigError
from convrag.concurrency.locks import creation_lock, get_locks
from convrag.store.database import BATCH, FILE, SqliteEntries, read_damaged
from convrag.store.folders import BuiltFolders

__all__ = ["BATCH", "FILE", "OpenDatabase", "Store", "get_store"]

OpenDatabase = Callable[[str, str], Database]
"""A function that opens the database at an address; its second argument is the setting that names
the address, for messages ("store.url").
"""


class Store:
    """Keeps results in a database, and built folders (indexes) below a path.

    It is safe across threads and processes. Files are created at the first use. Methods raise
    ConfigError where folder or database cannot be used. `get_store` returns the store that the
    stages of this process use.

    Args:
        path: the folder.
        url: the address of a database for the results ("postgresql+psycopg://user@host/database"),
            which many machines share; each has its own folder. Empty: a SQLite database in the
            folder.
        open_database: opens the database at `url`; without `url` it is not called.

    Raises:
        ConfigError: no plugin opens such an address.
        MissingExtra: the driver of the database is not installed.
    """

    def __init__(
        self, path: Path | str, url: str = "", open_database: OpenDatabase | None = None
    ) -> None:
        self.path = Path(path).absolute()
        self.url = url
        self.entries: Entries = SqliteEntries(self.path)
        """The values; `get` returns some."""
        if url:
            assert open_database is not None, "a store with an address needs what opens it"
            self.entries = open_database(url, "store.url").open_entries()
        self.name = self.entries.name
        """The name of the database in messages."""
        self._locks = get_locks(self.path)
        self.folders = BuiltFolders(self.path, self._locks)
        """The built folders; `folder` returns one."""

    def open(self) -> None:
        """Create the folder and the database unless they exist. Raises ConfigError."""
        self.entries.open()

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return key -> value. Keys without a value are absent."""
        return {key: value for key, (value, _) in self.entries.find(keys).items()}

    def take_over(self, damaged: Path) -> int:
        """Copy the readable entries of a damaged database that are missing here; return the number.

        Raises:
            ConfigError: it cannot be read.
        """
        count = 0
        try:
            for key, kind, value, seconds in read_damaged(damaged):
                if not self.entries.find([key]):
                    self.put(kind, {key: value}, seconds)
                    count += 1
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"{damaged} cannot be read ({error}): try sqlite3's own command .recover"
            ) from error
        return count

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float = 0.0) -> None:
        """Store values under their keys, each whole or not at all.

        Args:
            kind: the kind of value, such as "LiteLLM.complete", for statistics.
            entries: the values by key.
            seconds: the time that computing each of them took; 0 if it is not known.
        """
        self.entries.put(kind, entries, float(seconds))

    def folder(
        self, kind: str, key: str, build: Callable[[Path], None], *, series: str = ""
    ) -> Path:
        """Return the folder of a key, built if it is missing or damaged.

        A build that fails leaves no folder. A process that has opened damaged files keeps them.
        The folder is held: no process removes it while this one runs (see
        `convrag.store.folders`).

        Args:
            kind: the kind of folder, such as "indexes".
            key: a hash of all that determines what is in it.
            build: fills the empty folder that it is given.
            series: the folder replaces the earlier folders of the same series (see
                `BuiltFolders`): an index replaces the index of the same data set before its files
                changed. Empty: it replaces none.
        """
        self.open()
        return self.folders.get(kind, key, build, series)

    @contextmanager
    def lock(self, keys: Iterable[str], *, on_all_machines: bool = False) -> Iterator[None]:
        """Lock keys while their values are computed, after waiting for other threads and processes.

        Look into the store again in the block: another one may have put the value there meanwhile.

        Args:
            keys: the keys of the values.
            on_all_machines: whether processes on other machines wait, too. That takes a while, so
                it is for calls of models, which cost more. Two machines that compute a value
                compute the same.
        """
        wanted = sorted(set(keys))
        with self._locks.lock_keys(wanted), ExitStack() as locked:
            for key in wanted if on_all_machines else ():
                locked.enter_context(self.entries.lock_call(key))
            yield


_stores: WeakValueDictionary[tuple[Path, str], Store] = WeakValueDictionary()


def get_store(
    path: Path | str, url: str | None = None, open_database: OpenDatabase | None = None
) -> Store:
    """Return the store of a folder: one object in this process, as long as anything refers to it.

    Args:
        path: the folder.
        url: the address of a database; None or empty for SQLite (see `Store`).
        open_database: opens the database at `url`.
    """
    key = Path(path).resolve(), url or ""
    with creation_lock:
        store = _stores.get(key)
        if store is None:
            store = Store(path, url or "", open_database)
            _stores[key] = store
        return store
