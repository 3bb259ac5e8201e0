"""The tables of a store in PostgreSQL, made by the first process that opens it.

* `convrag_entries`: the values. `number` grows with each that is put; `token` is that of the lock under which it was
  computed.
* `convrag_locks`: a row for each key that is locked. `owner` names the session that has it, by a number on which that
  session holds an advisory lock: the server frees it when the session ends, however it ends. `token` is greater than
  that of each earlier holder of the key. `waited`: somebody wants to be notified.

The locks are rows, since a server has room for some 6,000 advisory locks, and a batch of texts to embed locks hundreds.
"""

from __future__ import annotations

from typing import Any

import psycopg

from convrag.store.connection import StoreUnusable

VERSION = 1
"""It grows with each change of the tables: a database with another version is refused."""

_LOCK = 0x636F6E7672616701  # held while tables are made

_CREATE = (
    "CREATE SEQUENCE IF NOT EXISTS convrag_numbers",
    'CREATE TABLE IF NOT EXISTS convrag_entries (key text COLLATE "C" PRIMARY KEY, '
    "number bigint NOT NULL DEFAULT nextval('convrag_numbers'), kind text NOT NULL, value bytea NOT NULL, "
    "seconds double precision NOT NULL, checksum bigint NOT NULL, token bigint NOT NULL)",
    "ALTER TABLE convrag_entries ALTER COLUMN value SET STORAGE EXTERNAL",  # they are compressed already
    "CREATE INDEX IF NOT EXISTS convrag_entries_by_number ON convrag_entries (number)",
    # After the server's crash it is empty, and all of its sessions have ended, too.
    'CREATE UNLOGGED TABLE IF NOT EXISTS convrag_locks (key text COLLATE "C" PRIMARY KEY, owner bigint NOT NULL, '
    "token bigint NOT NULL DEFAULT nextval('convrag_numbers'), waited boolean NOT NULL DEFAULT false)",
    "CREATE TABLE convrag_store (version integer NOT NULL)",
    f"INSERT INTO convrag_store VALUES ({VERSION})",
)

_RIGHTS = " AND ".join(
    f"has_table_privilege('{table}', '{right}')"
    for table in ("convrag_entries", "convrag_locks")
    for right in ("SELECT", "INSERT", "UPDATE", "DELETE")
)
_LOOK = (
    f"SELECT version, {_RIGHTS} AND has_sequence_privilege('convrag_numbers', 'USAGE'), "
    "current_setting('transaction_read_only') FROM convrag_store"
)


def make_tables(connection: psycopg.Connection[Any], name: str) -> None:
    """Make the tables where they are missing.

    Args:
        connection: to the database, in autocommit mode.
        name: of the store, for messages.

    Raises:
        StoreUnusable: the tables are of another version, or may not be written to.
        psycopg.Error: they cannot be made.
    """
    try:
        found = connection.execute(_LOOK).fetchall()
    except psycopg.errors.UndefinedTable:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            if connection.execute("SELECT to_regclass('convrag_store') IS NULL").fetchall() == [(True,)]:
                for statement in _CREATE:
                    connection.execute(statement)
        found = connection.execute(_LOOK).fetchall()
    ((version, may_write, read_only),) = found or [(0, True, "off")]
    if version != VERSION:
        raise StoreUnusable(
            f"{name} cannot be used: its tables are of version {version}, and this convrag has version {VERSION}. Use "
            "the convrag that made them, or another database."
        )
    if read_only != "off" or not may_write:
        reason = "the server is read-only" if read_only != "off" else "permission denied for the tables convrag_*"
        raise StoreUnusable(
            f"{name} cannot be used: {reason}. Name a server, and a user, that may read and write these tables."
        )
