"""What convrag asks of a database that a plugin opens (`convrag_open_database`,
`convrag_open_conversations`).
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from convrag.api.records import TurnRecord
from convrag.api.session import ConversationInfo, Session


class Entries(Protocol):
    """The values (bytes) of the store by key; safe across threads, processes and forks.

    Nothing is opened before the first use. Each method raises ConfigError where the database cannot
    be used.
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
        """Keep processes of other machines from making a call during the block; waits while one of
        them makes it.
        """


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
    """How it declares a column whose numbers are never given twice: "integer PRIMARY KEY
    AUTOINCREMENT".
    """

    def read(self) -> AbstractContextManager[Statements]:
        """Begin a transaction that only reads, all of it at one moment."""

    def write(self) -> AbstractContextManager[Statements]:
        """Begin a transaction that writes; nothing is written where the block raises."""

    def prepare(self, statements: Sequence[str]) -> None:
        """Make the tables that are missing by these statements. One process does so at a time.

        The last statement makes the youngest table: where that is, nothing is to be done.
        """

    def is_conflict(self, error: Exception) -> bool:
        """Whether a statement failed since a key is there already."""

    def close(self) -> None:
        """Close the connections that no thread uses."""


class Database(Protocol):
    """A database server, by its address. Nothing is opened before the first use."""

    def check(self) -> str:
        """Ask the server what it is ("PostgreSQL 15.8"). Raises ConfigError where it cannot be
        used.
        """

    def open_entries(self) -> Entries:
        """Return the values of the store in it."""

    def open_transactions(self) -> Transactions:
        """Return the transactions on the conversations in it."""


class ConversationStore(Protocol):
    """Conversations that are kept for good; safe across threads, processes and forks.

    All methods raise ConversationsUnusable where it cannot be used. Those that add turns raise
    ConversationChanged where another process has changed the conversation since the session was
    read.
    """

    def load(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id; None if there is none."""

    def refresh(self, session: Session) -> None:
        """Read what other processes have changed in a conversation. One that they have deleted
        begins anew.
        """

    def exists(self, conversation_id: str) -> bool:
        """Whether there is a conversation with an id."""

    def insert(self, session: Session) -> None:
        """Add a conversation that is not there yet."""

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn behind the last one."""

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Put another turn in the place of the last one."""

    def clear(self, conversation_id: str) -> None:
        """Remove the turns of a conversation."""

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with its turns."""

    def list(self, limit: int | None, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List conversations, those that were changed last first; `limit` None lists all."""

    def read_records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Read the records of a conversation's turns, in their order; an empty list where there is
        none.
        """

    def add_feedback(self, conversation_id: str, said: Mapping[str, Any]) -> None:
        """Add what somebody said of a conversation, which is removed with its turns; nothing where
        there is none.
        """

    def read_feedback(self, conversation_id: str | None) -> builtins.list[dict[str, Any]]:
        """Read what was said of a conversation, of all where `conversation_id` is None, in the
        order of adding.
        """

    def close(self) -> None:
        """Close the connections that no thread uses."""
