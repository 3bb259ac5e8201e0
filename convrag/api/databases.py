"""What convrag asks of a database server that a plugin opens (the hook `convrag_open_database`)."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Entries(Protocol):
    """The values (bytes) of the store by key; safe across threads, processes and forks.

    Nothing is opened before the first use. Each method raises ConfigError where the database cannot be used.
    """

    @property
    def name(self) -> str:
        """What messages call the database: its file, or its address without user and password."""

    def open(self) -> None:
        """Open the database, and make its table where it is missing."""

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds it took to compute), of the keys that have a sound value."""

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> None:
        """Keep values in place of earlier ones, each whole or not at all."""

    def lock_call(self, key: str) -> AbstractContextManager[None]:
        """Keep processes of other machines from making a call during the block; waits while one of them makes it."""

    def get_last_row(self) -> int:
        """Return the row number of the newest entry; 0 where there is none."""

    def count_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries that any process has added after a row."""


class Rows(Protocol):
    """A statement that was carried out: `sqlite3.Cursor` is one."""

    @property
    def rowcount(self) -> int:
        """How many rows it has changed."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple; None where there is none."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""


class Statements(Protocol):
    """A transaction: `sqlite3.Connection` is one."""

    def execute(self, sql: str, values: Mapping[str, Any] = ..., /) -> Rows:
        """Carry out a statement, whose values are named: "SELECT id FROM t WHERE key = :key"."""


class Transactions(Protocol):
    """The transactions on a database of conversations; safe across threads, processes and forks.

    `read` and `write` raise ConversationsUnusable where the database cannot be used.
    """

    name: str
    """What messages call the database."""
    serial: str
    """How it declares a column of numbers of which none is given twice: "integer PRIMARY KEY AUTOINCREMENT"."""

    def read(self) -> AbstractContextManager[Statements]:
        """Begin a transaction that only reads, all of it at one moment."""

    def write(self) -> AbstractContextManager[Statements]:
        """Begin a transaction that writes; nothing is written where the block raises."""

    def prepare(self, statements: Sequence[str]) -> None:
        """Make the tables by these statements, unless they are there. One process does so at a time."""

    def is_conflict(self, error: Exception) -> bool:
        """Whether a statement failed since a key is there already."""

    def close(self) -> None:
        """Close the connections that no thread uses."""


class Database(Protocol):
    """A database server, by its address. Nothing is opened before the first use."""

    def check(self) -> str:
        """Ask the server what it is ("PostgreSQL 15.8"). Raises ConfigError where it cannot be used."""

    def open_entries(self) -> Entries:
        """Return the values of the store in it."""

    def open_transactions(self) -> Transactions:
        """Return the transactions on the conversations in it."""
