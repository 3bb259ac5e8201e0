"""Statements whose text is made once, and which the driver of the database carries out.

    find = PreparedStatement(select(turns.c.record).where(turns.c.number == bindparam("place")))
    row = find.execute(connection, {"place": 3}).fetchone()

SQLAlchemy takes several times as long for a statement as SQLite: it looks for its compiled form, and makes an object of
the result. It gives the connection and the transaction here, and the text, which is each database's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.expression import ClauseElement


class PreparedStatement:
    """A statement of SQLAlchemy, for all databases.

    Args:
        statement: the statement; its values are parameters (`bindparam`).
        columns: those that it writes, beside its parameters.
    """

    def __init__(self, statement: ClauseElement, columns: Sequence[str] = ()) -> None:
        self._statement = statement
        self._columns = columns
        self._texts: dict[str, _Text] = {}

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """Carry it out within the transaction of a connection, and return the cursor. Raises the driver's errors."""
        dialect = connection.dialect
        if (text := self._texts.get(dialect.name)) is None:
            text = self._texts[dialect.name] = self._compile(dialect)
        converted = {name: convert(values[name]) for name, convert in text.converters.items()}
        cursor = connection.connection.cursor()
        cursor.execute(text.sql, {**values, **converted})
        return cursor

    def _compile(self, dialect: Dialect) -> _Text:
        named = sqlite.dialect(paramstyle="named") if dialect.name == "sqlite" else dialect
        compiled: Any = self._statement.compile(dialect=named, column_keys=list(self._columns) or None)
        converters = {name: bound.type.bind_processor(named) for name, bound in compiled.binds.items()}
        return _Text(str(compiled), {name: convert for name, convert in converters.items() if convert})


class _Text(NamedTuple):
    """The statement in the language of a database, and what makes its values of Python's."""

    sql: str
    converters: Mapping[str, Callable[[Any], Any]]
