"""The transactions on the conversations in a file of SQLite."""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from convrag.sdk.cancellation import sleep
from convrag.sdk.errors import ConversationsUnusable
from convrag.sdk.storage import ForkAware, describe_disk_error, switch_to_wal

log = logging.getLogger(__name__)

BUSY_SECONDS = 30
"""Seconds for which a statement waits for SQLite's lock, which another process may hold."""

_CREATING_SECONDS = 0.5
"""Seconds in which a process that has created the file writes into it."""

ADVICE = "Name another, or move this one away."
"""The end of a message about a file that cannot be used."""


class SqliteTransactions(ForkAware):
    """The transactions on a file of SQLite (see `convrag.sdk.storage.Transactions`).

    SQLite has one writer at a time. Threads wait for each other here and go on at once; SQLite
    itself would sleep and try again, longer each time. Readers do not wait (WAL).

    Args:
        path: the file.
    """

    serial = "integer PRIMARY KEY AUTOINCREMENT"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._write_lock = threading.Lock()
        super().__init__()

    def __del__(self) -> None:
        for connection in self._idle:
            connection.close()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction that only reads."""
        with self._begin("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction that takes the lock at once: two that read first would block."""
        with self._write_lock, self._begin("BEGIN IMMEDIATE") as connection:
            yield connection

    def prepare(self, statements: Sequence[str]) -> None:
        """Create the file, which only its owner may read, and the tables, if they are missing."""
        with self._explained():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._create_file()
        with self.write() as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = [name for (name,) in rows]
            if names and "convrag_schema" not in names:
                raise ConversationsUnusable(
                    f"conversations: {self.name} cannot be used: it is a database of something "
                    f"else, with the table {names[0]}. {ADVICE}"
                )
            if not {"convrag_feedback", "convrag_checksums"} <= set(names):
                for statement in statements:
                    connection.execute(statement)

    def _create_file(self) -> None:
        """Create the file if it is missing; say it where one is there that is empty.

        Another process may have created it just now.
        """
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            return
        except FileExistsError:
            os.close(os.open(self._path, os.O_RDWR))
        until = time.monotonic() + _CREATING_SECONDS
        while self._is_empty():
            if time.monotonic() > until:
                log.warning(
                    "conversations: %s is empty: nothing is left of the conversations that it may "
                    "have had",
                    self.name,
                )
                return
            sleep(_CREATING_SECONDS / 10)

    def _is_empty(self) -> bool:
        return self._path.is_file() and not self._path.stat().st_size

    def is_conflict(self, error: Exception) -> bool:
        """Whether a statement failed because a key exists already."""
        return isinstance(error, sqlite3.IntegrityError)

    def close(self) -> None:
        """Close the connections that no thread uses."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    @contextmanager
    def _begin(self, statement: str) -> Iterator[sqlite3.Connection]:
        with self._explained():
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                connection.execute(statement)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.close()  # which rolls back
                raise
            self._idle.append(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        switch_to_wal(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the database into one that tells the user what to do."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            # A UnicodeDecodeError comes from a message that quotes a damaged name
            raise ConversationsUnusable(f"conversations: {self._describe(error)}") from error

    def _describe(self, error: Exception) -> str:
        if self._path.is_dir():
            return f"{self.name} is a folder. Name a file in it, say conversations.db."
        if disk := describe_disk_error(error, self.name):
            return disk
        reason = " ".join(str(error).split()) or type(error).__name__
        if "is locked" in reason:
            return (
                f"{self.name} cannot be used: {reason}. "
                f"Another process has held it for {BUSY_SECONDS} s: try again."
            )
        return f"{self.name} cannot be used: {reason}. {ADVICE}"

    def _prepare_for_fork(self) -> None:
        """Close idle connections, which a child must not use or close."""
        self.close()

    def _reset_in_child(self) -> None:
        self._write_lock = threading.Lock()
