"""Transactions on the conversations in PostgreSQL."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from convrag.sdk.errors import ConversationsUnusable
from convrag.sdk.storage import Rows, Statements
from convrag_postgres.server import Address, Connection, Server

_LOCK = 0x636F6E7672616700
"""The advisory lock that is held while tables are created."""

_NAMED = re.compile(r"(?<!:):(\w+)")


class PostgresTransactions:
    """The transactions (see `convrag.sdk.storage.Transactions`).

    Args:
        address: the address of the database.
    """

    serial = "serial PRIMARY KEY"

    def __init__(self, address: Address) -> None:
        self.name = address.place
        self._server = Server(address, ConversationsUnusable, asks_first=True)

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Begin a transaction whose statements all see the database at one moment."""
        with self.write() as statements:
            statements.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield statements

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """Begin a transaction."""
        try:
            with self._server.borrow() as connection, connection.transaction():
                yield _Statements(connection)
        except (psycopg.Error, SQLAlchemyError, OSError) as error:
            raise self._server.explain(error) from error

    def prepare(self, statements: Sequence[str]) -> None:
        """Create the tables that are missing."""
        with self.write() as connection:
            connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            rows = connection.execute(
                "SELECT to_regclass('convrag_feedback') IS NULL "
                "OR to_regclass('convrag_checksums') IS NULL"
            )
            (is_missing,) = rows.fetchone()
            if is_missing:
                for statement in statements:
                    connection.execute(statement)

    def is_conflict(self, error: Exception) -> bool:
        """Whether a statement failed because a key exists already."""
        return isinstance(error, psycopg.errors.UniqueViolation)

    def close(self) -> None:
        """Close the connections that no thread uses."""
        self._server.close()


class _Statements:
    """A transaction whose statements have named values in SQLite's way, ":key"."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Mapping[str, Any] | None = None) -> Rows:
        """Carry out a statement."""
        rows: Rows = self._connection.execute(_translate(sql), values)
        return rows


@cache
def _translate(sql: str) -> str:
    return _NAMED.sub(r"%(\1)s", sql)
