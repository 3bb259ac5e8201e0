"""The tables of conversations in a database, and their version."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.types import TypeDecorator

VERSION = 1
"""The version of the tables. Raise it with a change of them: a database with another version is refused."""

_LOCK = 0x636F6E7672616700  # of PostgreSQL: held while tables are made
_ESCAPED = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


class WrongTables(Exception):
    """The database has tables that are not these; the message says what it has."""


class AnyText(TypeDecorator[str]):
    r"""Any text of Python. PostgreSQL takes no null character, and UTF-8 has no half surrogate pairs.

    These two are escaped, and so is the backslash: "a\b" is kept as "a\\b", a null character as "\0".
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        """Escape a text on its way to the database."""
        if value is None:
            return None
        escaped = value.replace("\\", "\\\\").replace("\0", "\\0")
        return escaped.encode("utf-8", "backslashreplace").decode("utf-8")

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        """Give the text as it was."""
        return None if value is None else _ESCAPED.sub(_unescape, str(value))


tables = MetaData()

schema = Table("convrag_schema", tables, Column("version", Integer, nullable=False))

conversations = Table(
    "convrag_conversations",
    tables,
    Column("number", Integer, primary_key=True),
    Column("key", String(32), nullable=False, unique=True),  # a hash of the id, which may be longer than an index takes
    Column("id", AnyText, nullable=False),
    Column("title", AnyText, nullable=False),
    Column("model", AnyText, nullable=False),
    Column("domain", AnyText, nullable=False),
    Column("configuration", Text, nullable=False),  # JSON
    Column("version", Integer, nullable=False),  # counts the changes of its turns
    Column("created", String(32), nullable=False),  # UTC, as ISO 8601 has it: texts sort like times
    Column("updated", String(32), nullable=False),
    Index("convrag_newest", "updated", "number"),
    sqlite_autoincrement=True,  # the number of a deleted conversation is not given to another
)

turns = Table(
    "convrag_turns",
    tables,
    Column("conversation", ForeignKey(conversations.c.number, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("turn_id", AnyText, nullable=False),
    Column("version", Integer, nullable=False),  # the conversation's after this turn was added or replaced
    Column("record", Text, nullable=False),  # JSON
)


def make_tables(connection: Connection) -> None:
    """Make the tables where there are none, within the transaction of a connection.

    Raises:
        WrongTables: they are of another version, or this is the SQLite file of another program.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    names = inspect(connection).get_table_names()
    if schema.name not in names:
        if names and connection.dialect.name == "sqlite":
            raise WrongTables(f"it is a database of something else, with the table {names[0]}")
        tables.create_all(connection)
        connection.execute(insert(schema).values(version=VERSION))
        return
    versions = connection.execute(select(schema.c.version)).scalars().all()
    if versions != [VERSION]:
        found = ", ".join(map(str, versions)) or "none"
        raise WrongTables(f"its tables have version {found}, and this convrag reads version {VERSION}")


def _unescape(found: re.Match[str]) -> str:
    escape = found[1]
    return {"\\": "\\", "0": "\0"}.get(escape) or chr(int(escape[1:], 16))
