"""The connection of a process to the store's database; it is a new one when another file takes the place of the old."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from convrag.api.errors import ConfigError, RunStopped
from convrag.store.database import open_database
from convrag.store.disk import describe_disk_error
from convrag.store.forking import ForkAware
from convrag.store.locks import get_locks
from convrag.store.salvage import FileIdentity, identify, is_damage, replace_damaged

FILE = "store.sqlite"
"""The database's name in the store's folder."""

Row = tuple[Any, ...]

Statement = tuple[str, Sequence[str | bytes | float]]
"""SQL, and the values of its parameters."""


class StoreUnusable(ConfigError, RunStopped):
    """The store cannot be used. In mid-run that ends the run: no further turn could keep what it costs."""


class DatabaseConnection(ForkAware):
    """Executes statements; one connection serves all threads, and a forked child opens its own.

    With a connection for each of 64 threads, a tenth of the time was spent waiting for database locks.

    Args:
        path: the folder of the database. Both are made at the first use.
    """

    _connection: sqlite3.Connection | None = None

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self._file = self.path / FILE
        self._opened: FileIdentity | None = None
        self._locks = get_locks(self.path)
        super().__init__()

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()  # and nothing else: at the end of a process, the names of modules are gone

    def _prepare_for_fork(self) -> None:
        """Close the connection: SQLite allows no child to use or close an inherited one. The next use opens another."""
        self._disconnect()

    def _execute(self, sql: str, values: Sequence[str | bytes | float] = ()) -> list[Row]:
        """Execute one statement as a transaction and return its rows. A damaged database is replaced.

        Transactions of several statements would stay open while their thread waits for the interpreter.

        Raises:
            StoreUnusable: the database cannot be used.
        """
        ((rows,), _) = self._execute_each((sql, values))
        return rows

    def _execute_each(self, *statements: Statement) -> tuple[list[list[Row]], FileIdentity | None]:
        """Execute statements, each as `_execute` does; return the rows of each, and the file that they were in.

        Where the database is damaged, all are executed again in the one that replaces it.
        """
        file = None
        try:
            with self._guard:
                file = identify(self._file)
                return self._execute_in(file, statements)
        except (OSError, sqlite3.DatabaseError) as error:
            self._replace_damaged(file, error)
        try:
            with self._guard:
                return self._execute_in(identify(self._file), statements)
        except (OSError, sqlite3.DatabaseError) as error:
            raise self._make_error(error) from error

    def _execute_in(
        self, file: FileIdentity | None, statements: Sequence[Statement]
    ) -> tuple[list[list[Row]], FileIdentity | None]:
        connection = self._connect(file)
        return [connection.execute(*each).fetchall() for each in statements], self._opened

    def _connect(self, file: FileIdentity | None) -> sqlite3.Connection:
        """Return the connection to the database, which is `file` now; the guard must be held.

        It is a new one where the database was deleted, or was damaged and replaced by another process.
        """
        if self._connection is not None and self._opened != file:
            self._disconnect()
        if self._connection is None:
            self.path.mkdir(parents=True, exist_ok=True)
            self._connection = open_database(self._file)
            self._opened = identify(self._file)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _replace_damaged(self, file: FileIdentity | None, error: Exception) -> None:
        """Replace the database, which was `file`, if the error says that it is damaged. Raises StoreUnusable if not."""
        if not is_damage(error, self._file):
            raise self._make_error(error) from error
        try:
            with self._locks.lock_keys([FILE]):
                replace_damaged(self._file, file, error)
        except (OSError, sqlite3.DatabaseError) as obstacle:
            raise self._make_error(obstacle) from error

    def _make_error(self, error: Exception) -> StoreUnusable:
        reason = describe_disk_error(error, self._file) or f"{error}. Choose a folder to write to."
        return StoreUnusable(f"store.path={self.path} cannot be used: {reason}")
