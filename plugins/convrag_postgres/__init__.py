"""The store and the conversations in PostgreSQL, for processes on many machines.

* `server`: the address of a server, the connections of a process to it, and what is said where it
  cannot be used.
* `entries`: the values of the store, and locks for calls of models.
* `conversations`: transactions on conversations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import hookimpl
from convrag.sdk.libraries import missing_extra

if TYPE_CHECKING:
    from convrag.sdk.storage import (  # imports SQLite, which --help does without
        Database,
        Entries,
        Transactions,
    )


@hookimpl
def convrag_open_database(url: str, setting: str) -> Database | None:
    """Open the database where the address is one of PostgreSQL."""
    scheme = url.partition("://")[0].partition("+")[0]
    return PostgresDatabase(url, setting) if scheme in ("postgresql", "postgres") else None


class PostgresDatabase:
    """A database of a PostgreSQL server (see `convrag.sdk.storage.Database`).

    Args:
        url: an address as SQLAlchemy has it, "postgresql+psycopg://user@host/database".
        setting: what names the address, for messages ("store.url").

    Raises:
        ConfigError: the address cannot be read.
        MissingExtra: the driver is not installed.
    """

    def __init__(self, url: str, setting: str) -> None:
        if missing := missing_extra(
            dict.fromkeys(("psycopg", "sqlalchemy"), "convrag[postgres]"), setting
        ):
            raise missing
        from convrag_postgres.server import Address  # SQLAlchemy and psycopg take a while

        self._address = Address(url, setting)

    def check(self) -> str:
        """Ask the server for its version. Nothing is made there."""
        from convrag_postgres.server import Server

        ((version,),) = Server(self._address).run(
            lambda server: server.execute("SHOW server_version").fetchall()
        )
        return f"PostgreSQL {version}"

    def open_entries(self) -> Entries:
        """Return the values of the store in it."""
        from convrag_postgres.entries import PostgresEntries

        return PostgresEntries(self._address)

    def open_transactions(self) -> Transactions:
        """Return the transactions on the conversations in it."""
        from convrag_postgres.conversations import PostgresTransactions

        return PostgresTransactions(self._address)
