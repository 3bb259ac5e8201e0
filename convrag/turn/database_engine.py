"""The connection to the database of conversations: a file of SQLite, or a PostgreSQL server."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from weakref import finalize

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from convrag.api.errors import ConfigError, ConversationsUnusable, MissingExtra
from convrag.api.secrets import redact, redact_address
from convrag.store.database import switch_to_wal
from convrag.store.disk import describe_disk_error
from convrag.store.forking import ForkAware
from convrag.turn.conversation_rows import DamagedRow
from convrag.turn.conversation_tables import WrongTables, make_tables

BUSY_SECONDS = 30
"""How long a statement waits for SQLite's lock, which another process may hold, and for a free connection."""

CONNECTIONS = 10
"""How many connections a process opens at most. Each is used for milliseconds, however long a turn takes."""

_DAMAGE = ("not a database", "malformed", "no such", "Could not decode")
"""What SQLite says of a file that is damaged, or never was one of its own."""

_WRITES = "convrag_writes"
_OTHER = "Name another, or move this one away."


class DatabaseEngine(ForkAware):
    """Gives transactions on the database; safe across threads, processes and forks.

    Args:
        database: a path of SQLite's file, which is made where it is missing, with its folder, for its owner alone; or
            an address as SQLAlchemy has it: "postgresql+psycopg://user@host/name", "sqlite:///file.db".

    Raises:
        ConfigError: it is no address of SQLite or PostgreSQL.
        MissingExtra: the driver of PostgreSQL is not installed.
        ConversationsUnusable: it cannot be opened, or is something else.
    """

    def __init__(self, database: Path | str) -> None:
        self._url = _parse_address(database)
        self._address = self._url.render_as_string(hide_password=False)
        self.name = self._url.database or "" if self.is_sqlite else redact_address(self._address)
        """What messages call it: the path, or the address without user and password."""
        self._engine = self._make_engine()
        self._driver_error = self._engine.dialect.loaded_dbapi.Error
        finalize(self, self._engine.dispose)
        # By default, each statement of PostgreSQL sees what was written until then.
        snapshot: dict[str, Any] = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = self._engine.execution_options(**snapshot)
        self._writing = threading.Lock()
        self._writer = self._engine.execution_options(**{_WRITES: True})
        super().__init__()
        with self._explained():
            if self.is_sqlite:
                _create_file(Path(self.name))
            with self.write() as connection:
                make_tables(connection)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self._url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that only reads, all of it at one moment. Raises ConversationsUnusable."""
        with self._explained(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """Give a connection for a single statement that reads, which needs no transaction. Raises as `read` does."""
        with self._explained(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction that writes; nothing is written where the block raises. Raises ConversationsUnusable.

        SQLite has one writer at a time. Threads wait for each other here, and go on at once: SQLite itself would sleep
        and try again, ever longer.
        """
        alone = self._writing if self.is_sqlite else nullcontext()
        with self._explained(), alone, self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections that no thread uses."""
        self._engine.dispose()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of the database into one that says what to do; passwords do not appear in it."""
        try:
            yield
        except (SQLAlchemyError, self._driver_error, OSError, WrongTables, DamagedRow) as error:
            problem = redact(self._describe(error), address=None if self.is_sqlite else self._address)
            raise ConversationsUnusable(f"conversations: {problem}") from error

    def _describe(self, error: Exception) -> str:
        """Say what an error means, without the statement, which holds what was said."""
        if self.is_sqlite and Path(self.name).is_dir():
            return f"{self.name} is a folder. Name a file in it, say conversations.db."
        if disk := describe_disk_error(error, self.name):
            return disk
        if isinstance(error, WrongTables):
            return f"{self.name} cannot be used: {error}. {_OTHER}"
        if isinstance(error, DamagedRow):
            return f"{self.name}: {error}. Delete the conversation."
        reason = " ".join(str(getattr(error, "orig", None) or error).split()) or type(error).__name__
        if any(sign in reason for sign in _DAMAGE):
            return f"{self.name} cannot be used: {reason}. {_OTHER}"
        held = f" Another process has held it for {BUSY_SECONDS} s: try again." if "is locked" in reason else ""
        return f"{self.name} cannot be used: {reason}.{held}"

    def _make_engine(self) -> Engine:
        pool = {"pool_size": CONNECTIONS, "max_overflow": 0, "pool_timeout": BUSY_SECONDS}
        try:
            if not self.is_sqlite:  # a connection of before the server's restart is found out by a ping
                return create_engine(self._url, hide_parameters=True, pool_pre_ping=True, **pool)
        except ImportError as error:
            raise MissingExtra("psycopg", "convrag[postgres]", "a PostgreSQL database of conversations") from error
        engine = create_engine(self._url, hide_parameters=True, connect_args={"timeout": BUSY_SECONDS}, **pool)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _prepare_for_fork(self) -> None:
        """Close idle connections: SQLite allows no child to use or close an inherited one."""
        self._engine.dispose()

    def _reset_in_child(self) -> None:
        """Forget connections that threads of the parent use."""
        self._engine.dispose(close=False)
        self._writing = threading.Lock()


def _parse_address(database: Path | str) -> URL:
    """Parse a path or an address. Raises ConfigError."""
    text = str(database)
    if "://" not in text:
        if not text.strip() or "\0" in text:
            raise ConfigError(f"conversations: {text!r} is no name of a file; conversations.db is one")
        return URL.create("sqlite", database=str(Path(text).expanduser().absolute()))
    scheme = text.partition("://")[0]
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # its message repeats the address
        raise ConfigError(f"conversations: {redact_address(text)} is no address that SQLAlchemy can read") from None
    if url.get_backend_name() == "sqlite" and url.database and not url.query:
        return URL.create("sqlite", database=str(Path(url.database).expanduser().absolute()))
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise ConfigError(
        f"conversations: {scheme}://... cannot keep them; name a file, or postgresql+psycopg://user@host/database"
    )


def _create_file(path: Path) -> None:
    """Create the file where it is missing; only its owner may read it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _set_up_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    """Prepare a new connection. Writers do not keep readers out (WAL), and SQLAlchemy begins the transactions."""
    connection.isolation_level = None
    switch_to_wal(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. One that writes takes the lock at once: two that read first could not both go on."""
    writes = connection.get_execution_options().get(_WRITES)
    cursor = connection.connection.cursor()  # SQLAlchemy's own way takes five times as long
    cursor.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    cursor.close()
