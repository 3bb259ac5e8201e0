"""The interfaces of a database that a plugin opens.

See the hooks `convrag_open_database` and `convrag_open_conversations`.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from convrag.api.records import TurnRecord
from convrag.api.session import ConversationInfo, Session


class Entries(Protocol):
    """The values (bytes) of the store by key; safe across threads, processes and forks.

    Nothing is opened before the first use. Each method raises ConfigError if the database cannot be
    used.
    """

    @property
    def name(self) -> str:
        """The name in messages: its file, or its address without user and password."""

    def open(self) -> None:
        """Open the database, and create its table if it is missing."""

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds to compute it), of the keys that have a sound value."""

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> None:
        """Keep values in place of earlier ones, each whole or not at all."""

    def lock_call(self, key: str) -> AbstractContextManager[None]:
        """Keep processes on other machines from making a call during the block.

        It waits while one of them makes the call.
        """


class Rows(Protocol):
    """The result of a statement: `sqlite3.Cursor` is one."""

    @property
    def rowcount(self) -> int:
        """The number of rows that it has changed."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple; None after the last one."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""


class Statements(Protocol):
    """A transaction: `sqlite3.Connection` is one."""

    def execute(self, sql: str, values: Mapping[str, Any] = ..., /) -> Rows:
        """Carry out a statement, whose values are named: "SELECT id FROM t WHERE key = :key"."""


class Transactions(Protocol):
    """The transactions on a database of conversations; safe across threads, processes and forks.

    `read` and `write` raise ConversationsUnusable if the database cannot be used.
    """

    name: str
    """The name of the database in messages."""
    serial: str
    """The SQL type of a number that is never reused: "integer PRIMARY KEY AUTOINCREMENT"."""

    def read(self) -> AbstractContextManager[Statements]:
        """Begin a transaction that only reads, and sees the database at one moment."""

    def write(self) -> AbstractContextManager[Statements]:
        """Begin a transaction that writes; nothing is written if the block raises."""

    def prepare(self, statements: Sequence[str]) -> None:
        """Create the missing tables by these statements; one process does so at a time.

        The last statement creates the youngest table: if that exists, there is nothing to do.
        """

    def is_conflict(self, error: Exception) -> bool:
        """Whether a statement failed because a key exists already."""

    def close(self) -> None:
        """Close the connections that no thread uses."""


class Database(Protocol):
    """A database server, by its address. Nothing is opened before the first use."""

    def check(self) -> str:
        """Return the server's name ("PostgreSQL 15.8"). Raises ConfigError if it cannot be used."""

    def open_entries(self) -> Entries:
        """Return the values of the store in it."""

    def open_transactions(self) -> Transactions:
        """Return the transactions on the conversations in it."""


class ConversationStore(Protocol):
    """A database of conversations; safe across threads, processes and forks.

    All methods raise ConversationsUnusable if it cannot be used. Methods that add turns raise
    ConversationChanged if another process has changed the conversation since the session was read.
    """

    def load(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id; None if there is none."""

    def refresh(self, session: Session) -> None:
        """Read the changes of other processes to a conversation; a deleted one begins anew."""

    def exists(self, conversation_id: str) -> bool:
        """Whether there is a conversation with an id."""

    def insert(self, session: Session) -> None:
        """Add a new conversation."""

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn after the last one."""

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Replace the last turn."""

    def clear(self, conversation_id: str) -> None:
        """Remove the turns of a conversation."""

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with its turns."""

    def list(self, limit: int | None, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List conversations, the last changed one first; `limit` None lists all."""

    def read_records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Read the records of a conversation's turns in order; an empty list if there is none."""

    def read_record(self, conversation_id: str, number: int) -> TurnRecord | None:
        """Read the record of one turn, from 1, or of the last one, 0; None if there is none."""

    def count_turns(self, conversation_id: str) -> int:
        """Count the turns of a conversation; 0 if there is no such conversation."""

    def add_feedback(self, conversation_id: str, feedback: Mapping[str, Any]) -> None:
        """Add feedback on a conversation, which is removed with its turns.

        If there is no such conversation, nothing is added.
        """

    def read_feedback(self, conversation_id: str | None) -> builtins.list[dict[str, Any]]:
        """Read the feedback on a conversation, on all if the id is None, in the order of adding."""

    def close(self) -> None:
        """Close the connections that no thread uses."""
