"""The conversations in a database: each change is one transaction, and none overwrites another process's."""

from __future__ import annotations

import builtins
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from convrag.api.errors import ConversationChanged
from convrag.api.records import TurnRecord
from convrag.turn.conversation_rows import (
    DamagedRow,
    format_session,
    format_time,
    format_turn,
    hash_id,
    parse_info,
    parse_session,
    parse_turn,
)
from convrag.turn.conversation_tables import conversations, turns
from convrag.turn.database_engine import DatabaseEngine
from convrag.turn.prepared_statements import PreparedStatement
from convrag.turn.session import ConversationInfo, Session, make_title, to_turn

_BY_ID = conversations.c.key == bindparam("hashed")
_OF_CONVERSATION = turns.c.conversation == bindparam("owner")
_OF_VERSION = conversations.c.number == bindparam("row"), conversations.c.version == bindparam("known")
_FIND_CONVERSATION = select(conversations).where(_BY_ID)
_ADD_CONVERSATION = insert(conversations).returning(conversations.c.number)
_CHANGE_TURN = update(turns).where(_OF_CONVERSATION, turns.c.number == bindparam("place"))
_COUNT_TURNS = select(func.count()).where(_OF_CONVERSATION)
_READ_NEW_TURNS = (
    select(turns.c.number, turns.c.record)
    .where(_OF_CONVERSATION, turns.c.version > bindparam("after"))
    .order_by(turns.c.number)
)

# What each turn needs.
_FIND_VERSION = PreparedStatement(select(conversations.c.number, conversations.c.version).where(_BY_ID))
_CHANGE_VERSION = PreparedStatement(update(conversations).where(*_OF_VERSION), ["version", "updated"])
_CHANGE_TITLE = PreparedStatement(update(conversations).where(*_OF_VERSION), ["version", "updated", "title"])
_ADD_TURN = PreparedStatement(insert(turns), [column.name for column in turns.columns])


class ConversationDatabase:
    """Keeps conversations in SQLite or PostgreSQL, each turn with its whole record.

    A session knows the number of its row and the version of its turns. A change is made where the row has that version
    still, and raises the version; else it raises ConversationChanged. All methods raise ConversationsUnusable where the
    database cannot be used.

    Args:
        database: a path or an address (see `DatabaseEngine`).
    """

    def __init__(self, database: Path | str) -> None:
        self._engine = DatabaseEngine(database)

    def load(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id; None if there is none."""
        with self._engine.read() as connection:
            row = connection.execute(_FIND_CONVERSATION, _identify(conversation_id)).one_or_none()
            if row is None:
                return None
            session = parse_session(row)
            self._read_turns(connection, session, after=0)
            return session

    def refresh(self, session: Session) -> None:
        """Read what other processes have changed in a conversation. One that they have deleted begins anew.

        Hold the session's lock.
        """
        found = self._find_version(session.id)
        if found == (session.number, session.version) or (found is None and session.number is None):
            return
        if found is not None and found[0] == session.number:
            with self._engine.read() as connection:
                row = connection.execute(_FIND_CONVERSATION, _identify(session.id)).one_or_none()
                if row is not None and row.number == session.number:
                    session.stage_state.clear()
                    self._read_turns(connection, session, after=session.version)
                    session.version = row.version
                    return
        session.take_over(self.load(session.id) or Session(session.id, session.domain))

    def exists(self, conversation_id: str) -> bool:
        """Whether there is a conversation with an id."""
        return self._find_version(conversation_id) is not None

    def insert(self, session: Session) -> None:
        """Add a conversation that is not there yet. Raises ConversationChanged where another process has added it."""
        with self._engine.write() as connection:
            number = self._insert(connection, session.id, format_session(session))
        session.number, session.version = number, 0

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn behind the last one. Raises ConversationChanged."""
        place, version = len(session.history) + 1, session.version + 1
        changes = {"title": make_title(record.original_query)} if place == 1 else {}
        turn = format_turn(record)  # before the transaction, which keeps other writers out
        with self._engine.write() as connection:
            if (number := session.number) is None:
                row = {**format_session(session), "version": version, "updated": _format_now(), **changes}
                number = self._insert(connection, session.id, row)
            else:
                self._raise_version(connection, session, number, **changes)
            _ADD_TURN.execute(connection, {"conversation": number, "number": place, "version": version, **turn})
        session.number, session.version = number, version

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Put another turn in the place of the last one. Raises ConversationChanged."""
        assert session.number is not None
        row = {"version": session.version + 1, **format_turn(record)}
        with self._engine.write() as connection:
            self._raise_version(connection, session, session.number)
            last = {"owner": session.number, "place": len(session.history)}
            connection.execute(_CHANGE_TURN, {**row, **last})
        session.version += 1

    def clear(self, conversation_id: str) -> None:
        """Remove the turns of a conversation."""
        with self._engine.write() as connection:
            changes = {"title": "", "version": conversations.c.version + 1, "updated": _format_now()}
            numbers = update(conversations).where(_BY_ID).values(changes).returning(conversations.c.number)
            found = connection.execute(numbers, _identify(conversation_id)).scalar_one_or_none()
            if found is not None:
                connection.execute(delete(turns).where(turns.c.conversation == found))

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with its turns."""
        with self._engine.write() as connection:
            connection.execute(delete(conversations).where(_BY_ID), _identify(conversation_id))

    def list(self, limit: int | None, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List conversations, those that were changed last first; `limit` None lists all."""
        count = select(func.count()).where(turns.c.conversation == conversations.c.number).scalar_subquery()
        newest = (conversations.c.updated.desc(), conversations.c.number.desc())
        rows = select(conversations, count.label("turns")).order_by(*newest).limit(limit).offset(offset)
        with self._engine.read() as connection:
            return [parse_info(row) for row in connection.execute(rows)]

    def read_records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Read the records of a conversation's turns, in their order; an empty list where there is none."""
        rows = select(turns.c.number, turns.c.record).join(conversations).where(_BY_ID).order_by(turns.c.number)
        with self._engine.read() as connection:
            found = connection.execute(rows, _identify(conversation_id))
            return [parse_turn(row, conversation_id) for row in found]

    def close(self) -> None:
        """Close the connections that no thread uses."""
        self._engine.close()

    def _find_version(self, conversation_id: str) -> tuple[int, int] | None:
        """Find the number and the version of a conversation; None where there is none."""
        with self._engine.look() as connection:
            row = _FIND_VERSION.execute(connection, _identify(conversation_id)).fetchone()
            return None if row is None else (row[0], row[1])

    def _insert(self, connection: Connection, conversation_id: str, row: dict[str, Any]) -> int:
        """Add the row of a conversation, and return its number. Raises ConversationChanged where there is one."""
        try:
            return int(connection.execute(_ADD_CONVERSATION, row).scalar_one())
        except IntegrityError:
            raise ConversationChanged(conversation_id) from None

    def _raise_version(self, connection: Connection, session: Session, number: int, **changes: Any) -> None:
        """Count a change of a conversation's turns. Raises ConversationChanged where the version is another."""
        values = {"version": session.version + 1, "updated": _format_now(), **changes}
        known = {"row": number, "known": session.version}
        statement = _CHANGE_TITLE if "title" in values else _CHANGE_VERSION
        if statement.execute(connection, {**values, **known}).rowcount != 1:
            raise ConversationChanged(session.id)

    def _read_turns(self, connection: Connection, session: Session, after: int) -> None:
        """Read the turns that were added or replaced after a version into a session's history."""
        own = {"owner": session.number}
        count = connection.execute(_COUNT_TURNS, own).scalar_one()
        history, attempt = session.history[:count], session.attempt
        for row in connection.execute(_READ_NEW_TURNS, {**own, "after": after}):
            if not 1 <= row.number <= len(history) + 1:
                raise DamagedRow(f"conversation {session.id!r} is damaged (turns are missing before {row.number})")
            record = parse_turn(row, session.id)
            history[row.number - 1 : row.number] = [to_turn(record)]
            attempt = record.attempt
        if len(history) != count:
            raise DamagedRow(f"conversation {session.id!r} is damaged (it has {count} turns, not {len(history)})")
        session.history, session.attempt = history, attempt


def _identify(conversation_id: str) -> dict[str, Any]:
    return {"hashed": hash_id(conversation_id)}


def _format_now() -> str:
    return format_time(datetime.now(UTC))
