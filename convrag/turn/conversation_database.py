"""The conversations in a database: each change is one transaction, and none overwrites another process's."""

from __future__ import annotations

import builtins
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from convrag.api.errors import ConversationChanged
from convrag.api.records import TurnRecord
from convrag.store.strict_json import format_json, parse_json
from convrag.turn.conversation_tables import conversations, turns
from convrag.turn.database_engine import DatabaseEngine
from convrag.turn.session import ConversationInfo, Session, make_title, to_turn


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
            row = connection.execute(select(conversations).where(_has_id(conversation_id))).one_or_none()
            if row is None:
                return None
            session = self._make_session(row)
            self._read_turns(connection, session, after=0)
            return session

    def refresh(self, session: Session) -> None:
        """Read what other processes have changed in a conversation. One that they have deleted begins anew.

        Hold the session's lock.
        """
        with self._engine.read() as connection:
            columns = (conversations.c.number, conversations.c.version)
            row = connection.execute(select(*columns).where(_has_id(session.id))).one_or_none()
            if row is not None and row.number == session.number:
                if row.version != session.version:
                    session.stage_state.clear()
                    self._read_turns(connection, session, after=session.version)
                    session.version = row.version
                return
        if row is not None or session.number is not None:
            session.take_over(self.load(session.id) or Session(session.id, session.domain))

    def exists(self, conversation_id: str) -> bool:
        """Whether there is a conversation with an id."""
        with self._engine.read() as connection:
            return connection.execute(select(1).where(_has_id(conversation_id))).first() is not None

    def insert(self, session: Session) -> None:
        """Add a conversation that is not there yet. Raises ConversationChanged where another process has added it."""
        with self._engine.write() as connection:
            number = self._insert(connection, session)
        session.number, session.version = number, 0

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn behind the last one. Raises ConversationChanged."""
        with self._engine.write() as connection:
            number = self._insert(connection, session) if session.number is None else session.number
            place = len(session.history) + 1
            changes = {"title": make_title(record.original_query)} if place == 1 else {}
            self._raise_version(connection, session, number, **changes)
            row = {"conversation": number, "number": place, "version": session.version + 1, **_format_turn(record)}
            connection.execute(insert(turns).values(row))
        session.number, session.version = number, session.version + 1

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Put another turn in the place of the last one. Raises ConversationChanged."""
        assert session.number is not None
        with self._engine.write() as connection:
            self._raise_version(connection, session, session.number)
            last = (turns.c.conversation == session.number) & (turns.c.number == len(session.history))
            row = {"version": session.version + 1, **_format_turn(record)}
            connection.execute(update(turns).where(last).values(row))
        session.version += 1

    def clear(self, conversation_id: str) -> None:
        """Remove the turns of a conversation."""
        with self._engine.write() as connection:
            changes = {"title": "", "version": conversations.c.version + 1, "updated": _format_time(datetime.now(UTC))}
            numbers = update(conversations).where(_has_id(conversation_id)).values(changes)
            found = connection.execute(numbers.returning(conversations.c.number)).scalar_one_or_none()
            if found is not None:
                connection.execute(delete(turns).where(turns.c.conversation == found))

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with its turns."""
        with self._engine.write() as connection:
            connection.execute(delete(conversations).where(_has_id(conversation_id)))

    def list(self, limit: int | None, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List conversations, those that were changed last first; `limit` None lists all."""
        count = select(func.count()).where(turns.c.conversation == conversations.c.number).scalar_subquery()
        newest = (conversations.c.updated.desc(), conversations.c.number.desc())
        rows = select(conversations, count.label("turns")).order_by(*newest).limit(limit).offset(offset)
        with self._engine.read() as connection:
            return [
                ConversationInfo(
                    row.id,
                    row.title,
                    row.model,
                    row.domain,
                    row.turns,
                    datetime.fromisoformat(row.created),
                    datetime.fromisoformat(row.updated),
                )
                for row in connection.execute(rows)
            ]

    def read_records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Read the records of a conversation's turns, in their order; an empty list where there is none."""
        rows = select(turns.c.number, turns.c.record).join(conversations).where(_has_id(conversation_id))
        with self._engine.read() as connection:
            found = connection.execute(rows.order_by(turns.c.number)).all()
        return [self._parse_turn(row, conversation_id) for row in found]

    def close(self) -> None:
        """Close the connections that no thread uses."""
        self._engine.close()

    def _insert(self, connection: Connection, session: Session) -> int:
        """Add the row of a conversation, and return its number. Raises ConversationChanged where there is one."""
        row = {
            "key": _hash_id(session.id),
            "id": session.id,
            "title": "",
            "model": session.model,
            "domain": session.domain,
            "configuration": _escape(format_json(session.configuration)),
            "version": 0,
            "created": _format_time(session.created),
            "updated": _format_time(session.updated),
        }
        try:
            added = insert(conversations).values(row).returning(conversations.c.number)
            return int(connection.execute(added).scalar_one())
        except IntegrityError:
            raise ConversationChanged(session.id) from None

    def _raise_version(self, connection: Connection, session: Session, number: int, **changes: Any) -> None:
        """Count a change of a conversation's turns. Raises ConversationChanged where the version is another."""
        row = (conversations.c.number == number) & (conversations.c.version == session.version)
        values = {"version": session.version + 1, "updated": _format_time(datetime.now(UTC)), **changes}
        if connection.execute(update(conversations).where(row).values(values)).rowcount != 1:
            raise ConversationChanged(session.id)

    def _make_session(self, row: Any) -> Session:
        return Session(
            row.id,
            row.domain,
            model=row.model,
            configuration=self._parse(row.configuration, f"the configuration of conversation {row.id!r}"),
            created=datetime.fromisoformat(row.created),
            updated=datetime.fromisoformat(row.updated),
            number=row.number,
            version=row.version,
        )

    def _read_turns(self, connection: Connection, session: Session, after: int) -> None:
        """Read the turns that were added or replaced after a version into a session's history."""
        own = turns.c.conversation == session.number
        count = connection.execute(select(func.count()).where(own)).scalar_one()
        del session.history[count:]
        rows = select(turns.c.number, turns.c.record).where(own, turns.c.version > after).order_by(turns.c.number)
        for row in connection.execute(rows):
            record = self._parse_turn(row, session.id)
            session.history[row.number - 1 : row.number] = [to_turn(record)]
            session.attempt = record.attempt
        if len(session.history) != count:
            raise self._engine.make_error(f"conversation {session.id!r} is damaged: turns are missing. Delete it.")

    def _parse_turn(self, row: Any, conversation_id: str) -> TurnRecord:
        place = f"turn {row.number} of conversation {conversation_id!r}"
        try:
            return TurnRecord.from_dict(self._parse(row.record, place))
        except ValueError as error:
            raise self._engine.make_error(f"{place} is damaged ({error}). Delete the conversation.") from error

    def _parse(self, data: Any, place: str) -> Any:
        """Parse JSON of the database. Raises ConversationsUnusable."""
        try:
            return parse_json(data)
        except (ValueError, TypeError) as error:
            raise self._engine.make_error(f"{place} is damaged ({error}). Delete the conversation.") from error


def _format_turn(record: TurnRecord) -> dict[str, Any]:
    return {"turn_id": record.turn_id, "record": _escape(format_json(record.to_dict()))}


def _escape(data: str) -> str:
    """Write half surrogate pairs in JSON as JSON does it: no database takes them."""
    return data.encode("utf-8", "backslashreplace").decode("utf-8")


def _has_id(conversation_id: str) -> ColumnElement[bool]:
    return conversations.c.key == _hash_id(conversation_id)


def _hash_id(conversation_id: str) -> str:
    """Hash an id to 32 digits: PostgreSQL's indexes take texts of 2,700 bytes at most."""
    return blake2b(conversation_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds")
