"""Conversations in a database: each change is a transaction, and overwrites no other process's.

The database is a file of SQLite, or one that a plugin opens (`convrag.sdk.storage.Transactions`);
the statements are the same in each.
"""

import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from convrag import ConfigError, TurnRecord
from convrag.sdk.data.strict_json import format_json, parse_json
from convrag.sdk.errors import ConversationChanged, ConversationsUnusable
from convrag.sdk.storage import Statements, Transactions
from convrag.sdk.tasks.turns import ConversationInfo, Session, make_title, open_database, to_turn
from convrag_conversations.sqlite import ADVICE, SqliteTransactions

VERSION = 1
"""The version of the tables; a database with another version is refused.

Raise it with a change of them. A new table that earlier versions of convrag do not know needs none:
it is created if it is missing.
"""

_HIGHEST_NUMBER = 2**31 - 1
"""The highest number that each database takes for a turn."""

_ESCAPED = re.compile(r"\\(\\|0|u[0-9a-f]{4})")

_TABLES = (
    "CREATE TABLE IF NOT EXISTS convrag_schema (version integer NOT NULL)",
    # `key` is a hash of the id, which may be longer than an index takes; `configuration` is JSON;
    # `version` counts the changes of its turns. No number is reused. Times are in UTC, as ISO 8601
    # has it, so that texts sort like times.
    """
    CREATE TABLE IF NOT EXISTS convrag_conversations (
        number {serial}, key varchar(32) NOT NULL UNIQUE, id text NOT NULL, title text NOT NULL,
        model text NOT NULL, domain text NOT NULL, configuration text NOT NULL,
        version integer NOT NULL, created varchar(32) NOT NULL, updated varchar(32) NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS convrag_newest ON convrag_conversations (updated, number)",
    # `version` is the conversation's after this turn was added or replaced; `record` is JSON.
    """
    CREATE TABLE IF NOT EXISTS convrag_turns (
        conversation integer NOT NULL REFERENCES convrag_conversations (number) ON DELETE CASCADE,
        number integer NOT NULL, turn_id text NOT NULL, version integer NOT NULL,
        record text NOT NULL, PRIMARY KEY (conversation, number)
    )
    """,
    f"INSERT INTO convrag_schema SELECT {VERSION} WHERE NOT EXISTS (SELECT 1 FROM convrag_schema)",
    # `said` is the feedback as JSON.
    """
    CREATE TABLE IF NOT EXISTS convrag_feedback (
        number {serial},
        conversation integer NOT NULL REFERENCES convrag_conversations (number) ON DELETE CASCADE,
        said text NOT NULL
    )
    """,
    # `checksum` is of what a version of a turn's row has; turns of earlier convrags have none.
    """
    CREATE TABLE IF NOT EXISTS convrag_checksums (
        conversation integer NOT NULL REFERENCES convrag_conversations (number) ON DELETE CASCADE,
        number integer NOT NULL, version integer NOT NULL, checksum varchar(32) NOT NULL,
        PRIMARY KEY (conversation, number)
    )
    """,
)
_FIND_VERSION = "SELECT number, version FROM convrag_conversations WHERE key = :key"
_FIND = """
    SELECT number, id, domain, model, configuration, created, updated, version
    FROM convrag_conversations WHERE key = :key
"""
_LIST = """
    SELECT id, title, model, domain,
        (SELECT count(*) FROM convrag_turns WHERE conversation = c.number),
        created, updated, configuration
    FROM convrag_conversations AS c ORDER BY updated DESC, number DESC
"""
_ADD = """
    INSERT INTO convrag_conversations
        (key, id, title, model, domain, configuration, version, created, updated)
    VALUES (:key, :id, :title, :model, :domain, :configuration, :version, :created, :updated)
    RETURNING number
"""
_CHANGE = """
    UPDATE convrag_conversations
    SET version = :version, updated = :updated, title = coalesce(:title, title)
    WHERE number = :number AND version = :known
"""
_CLEAR = """
    UPDATE convrag_conversations SET title = '', version = version + 1, updated = :updated
    WHERE key = :key RETURNING number
"""
_TURNS = """
    SELECT t.number, t.turn_id, t.record, s.checksum FROM convrag_turns AS t
    LEFT JOIN convrag_checksums AS s
        ON s.conversation = t.conversation AND s.number = t.number AND s.version = t.version
"""
_FIND_TURN = f"""
    {_TURNS} JOIN convrag_conversations AS c ON t.conversation = c.number
    WHERE key = :key AND (t.number = :number OR :number = 0) ORDER BY t.number DESC LIMIT 1
"""
_COUNT_TURNS_OF = """
    SELECT count(*) FROM convrag_turns AS t
    JOIN convrag_conversations AS c ON t.conversation = c.number WHERE key = :key
"""
_COUNT_TURNS = "SELECT count(*) FROM convrag_turns WHERE conversation = :number"
_READ_TURNS = f"""
    {_TURNS} WHERE t.conversation = :number AND t.version > :after ORDER BY t.number
"""
_ADD_TURN = """
    INSERT INTO convrag_turns VALUES (:conversation, :number, :turn_id, :version, :record)
"""
_REPLACE_TURN = """
    UPDATE convrag_turns SET turn_id = :turn_id, version = :version, record = :record
    WHERE conversation = :conversation AND number = :number
"""
_PUT_CHECKSUM = """
    INSERT INTO convrag_checksums VALUES (:conversation, :number, :version, :checksum)
    ON CONFLICT (conversation, number) DO UPDATE
    SET version = excluded.version, checksum = excluded.checksum
"""
_ADD_FEEDBACK = """
    INSERT INTO convrag_feedback (conversation, said)
    SELECT number, :said FROM convrag_conversations WHERE key = :key
"""
_READ_ALL_FEEDBACK = "SELECT said FROM convrag_feedback ORDER BY number"
_READ_FEEDBACK = """
    SELECT said FROM convrag_feedback AS f
    JOIN convrag_conversations AS c ON f.conversation = c.number
    WHERE key = :key ORDER BY f.number
"""


class ConversationDatabase:
    """Keeps conversations, each turn with its whole record.

    See `convrag.sdk.storage.ConversationStore`. A session knows the number of its row and the
    version of its turns. A change raises the version if the row still has the session's; else it
    raises ConversationChanged. All methods raise ConversationsUnusable if the database cannot be
    used.

    Args:
        database: the path of an SQLite file, which is created if it is missing, with its folder,
            for its owner only; or an address ("sqlite:///file.db",
            "postgresql+psycopg://user@host/name").

    Raises:
        ConfigError: it is not an address that SQLite or a plugin opens.
        MissingExtra: the driver of the database is not installed.
        ConversationsUnusable: it cannot be opened, or is something else.
    """

    def __init__(self, database: str) -> None:
        self._transactions = _open_transactions(database)
        serial = self._transactions.serial
        self._transactions.prepare([statement.format(serial=serial) for statement in _TABLES])
        with self._transactions.read() as connection:
            row = connection.execute("SELECT version FROM convrag_schema").fetchone()
        version = row[0] if row else "none"
        if version != VERSION:
            raise ConversationsUnusable(
                f"conversations: {self._transactions.name} cannot be used: its tables have version "
                f"{version}, and this convrag reads version {VERSION}. {ADVICE}"
            )

    def load(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id; None if there is none."""
        with self._transactions.read() as connection:
            row = connection.execute(_FIND, {"key": hash_id(conversation_id)}).fetchone()
            if row is None:
                return None
            session = self._parse_session(row)
            self._read_turns(connection, session, after=0)
            return session

    def refresh(self, session: Session) -> None:
        """Read the changes of other processes to a conversation; a deleted one begins anew.

        Hold the session's lock.
        """
        with self._transactions.read() as connection:
            found = connection.execute(_FIND_VERSION, {"key": hash_id(session.id)}).fetchone()
            number, version = found or (None, 0)
            if number == session.number:
                if version != session.version:
                    session.stage_state.clear()
                    self._read_turns(connection, session, after=session.version)
                    session.version = version
                return
        session.take_over(self.load(session.id) or Session(session.id, session.domain))

    def exists(self, conversation_id: str) -> bool:
        """Whether there is a conversation with an id."""
        with self._transactions.read() as connection:
            row = connection.execute(_FIND_VERSION, {"key": hash_id(conversation_id)}).fetchone()
        return row is not None

    def insert(self, session: Session) -> None:
        """Add a new conversation. Raises ConversationChanged if another process has added it."""
        with self._transactions.write() as connection:
            session.number = self._insert(connection, session)
            session.version = 0

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn after the last one. Raises ConversationChanged."""
        place = len(session.history) + 1
        version = session.version + 1
        title = make_title(record.original_query) if place == 1 else None
        turn = _format_turn(record, version)  # before the transaction, which blocks other writers
        with self._transactions.write() as connection:
            number = session.number
            if number is None:
                number = self._insert(connection, session, title or "", version=version)
            else:
                self._raise_version(connection, session, title)
            row = {"conversation": number, "number": place, **turn}
            connection.execute(_ADD_TURN, row)
            connection.execute(_PUT_CHECKSUM, _make_checksum(row))
        session.number = number
        session.version = version

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Replace the last turn. Raises ConversationChanged."""
        turn = _format_turn(record, session.version + 1)
        with self._transactions.write() as connection:
            self._raise_version(connection, session)
            row = {"conversation": session.number, "number": len(session.history), **turn}
            connection.execute(_REPLACE_TURN, row)
            connection.execute(_PUT_CHECKSUM, _make_checksum(row))
        session.version += 1

    def clear(self, conversation_id: str) -> None:
        """Remove the turns of a conversation."""
        values = {"updated": _format_time(), "key": hash_id(conversation_id)}
        with self._transactions.write() as connection:
            row = connection.execute(_CLEAR, values).fetchone()
            if row is None:
                return
            for table in ("convrag_turns", "convrag_checksums", "convrag_feedback"):
                connection.execute(
                    f"DELETE FROM {table} WHERE conversation = :number", {"number": row[0]}
                )

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with its turns."""
        with self._transactions.write() as connection:
            connection.execute(
                "DELETE FROM convrag_conversations WHERE key = :key",
                {"key": hash_id(conversation_id)},
            )

    def list(self, limit: int | None, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List conversations, the last changed one first; `limit` None lists all."""
        part = "" if limit is None else f" LIMIT {limit:d} OFFSET {offset:d}"
        with self._transactions.read() as connection:
            rows = connection.execute(_LIST + part).fetchall()
        return [self._parse_info(row) for row in rows]

    def read_records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Read the records of a conversation's turns in order; an empty list if there is none."""
        with self._transactions.read() as connection:
            found = connection.execute(_FIND_VERSION, {"key": hash_id(conversation_id)}).fetchone()
            if found is None:
                return []
            number, _ = found
            rows = connection.execute(_READ_TURNS, {"number": number, "after": 0}).fetchall()
        return [self._parse_turn(row, conversation_id) for row in rows]

    def read_record(self, conversation_id: str, number: int) -> TurnRecord | None:
        """Read the record of one turn, from 1, or of the last one, 0; None if there is none."""
        if number > _HIGHEST_NUMBER:
            return None
        values = {"key": hash_id(conversation_id), "number": number}
        with self._transactions.read() as connection:
            row = connection.execute(_FIND_TURN, values).fetchone()
        return None if row is None else self._parse_turn(row, conversation_id)

    def count_turns(self, conversation_id: str) -> int:
        """Count the turns of a conversation; 0 if there is none."""
        with self._transactions.read() as connection:
            values = {"key": hash_id(conversation_id)}
            (count,) = connection.execute(_COUNT_TURNS_OF, values).fetchone()
        return int(count)

    def add_feedback(self, conversation_id: str, feedback: Mapping[str, Any]) -> None:
        """Add feedback on a conversation; nothing is added if there is none."""
        values = {"key": hash_id(conversation_id), "said": _format_plain(feedback)}
        with self._transactions.write() as connection:
            connection.execute(_ADD_FEEDBACK, values)

    def read_feedback(self, conversation_id: str | None) -> builtins.list[dict[str, Any]]:
        """Read the feedback on a conversation, on all if the id is None, in the order of adding."""
        with self._transactions.read() as connection:
            if conversation_id is None:
                rows = connection.execute(_READ_ALL_FEEDBACK).fetchall()
            else:
                values = {"key": hash_id(conversation_id)}
                rows = connection.execute(_READ_FEEDBACK, values).fetchall()
        with self._checked("what was said of a conversation"):
            return [parse_json(text) for (text,) in rows]

    def close(self) -> None:
        """Close the connections that no thread uses."""
        self._transactions.close()

    def _insert(
        self, connection: Statements, session: Session, title: str = "", version: int = 0
    ) -> int:
        """Add the row of a conversation, and return its number.

        Raises ConversationChanged if there is one.
        """
        row = {
            "key": hash_id(session.id),
            "id": escape(session.id),
            "title": escape(title),
            "model": escape(session.model),
            "domain": escape(session.domain),
            "configuration": _format_plain(session.configuration),
            "version": version,
            "created": _format_time(session.created),
            "updated": _format_time(None if version else session.updated),
        }
        try:
            return int(connection.execute(_ADD, row).fetchone()[0])
        except Exception as error:  # of a class of the database
            if self._transactions.is_conflict(error):
                raise ConversationChanged(session.id) from None
            raise

    def _raise_version(
        self, connection: Statements, session: Session, title: str | None = None
    ) -> None:
        """Count a change of a conversation's turns.

        Raises ConversationChanged if another process has changed them.
        """
        row = {"number": session.number, "known": session.version, "version": session.version + 1}
        changes = {"updated": _format_time(), "title": None if title is None else escape(title)}
        if connection.execute(_CHANGE, {**row, **changes}).rowcount != 1:
            raise ConversationChanged(session.id)

    def _read_turns(self, connection: Statements, session: Session, after: int) -> None:
        """Read the turns that were added or replaced after a version into a session's history."""
        place = f"conversation {session.id!r}"
        values = {"number": session.number}
        (count,) = connection.execute(_COUNT_TURNS, values).fetchone()
        history = session.history[:count]
        attempt = session.attempt
        for row in connection.execute(_READ_TURNS, {**values, "after": after}).fetchall():
            number = row[0]
            if not 1 <= number <= len(history) + 1:
                raise self._damaged(place, f"turns are missing before {number}")
            record = self._parse_turn(row, session.id)
            history[number - 1 : number] = [to_turn(record)]
            attempt = record.attempt
        if len(history) != count:
            raise self._damaged(place, f"it has {count} turns, not {len(history)}")
        session.history = history
        session.attempt = attempt

    def _parse_session(self, row: Sequence[Any]) -> Session:
        number, key, domain, model, configuration, created, updated, version = row
        with self._checked(f"conversation {key!r}"):
            return Session(
                unescape(key),
                unescape(domain),
                model=unescape(model),
                configuration=parse_json(configuration),
                created=datetime.fromisoformat(created),
                updated=datetime.fromisoformat(updated),
                number=int(number),
                version=int(version),
            )

    def _parse_info(self, row: Sequence[Any]) -> ConversationInfo:
        key, title, model, domain, turns, created, updated, configuration = row
        with self._checked(f"conversation {key!r}"):
            return ConversationInfo(
                id=unescape(key),
                title=unescape(title),
                model=unescape(model),
                domain=unescape(domain),
                turns=int(turns),
                created=datetime.fromisoformat(created),
                updated=datetime.fromisoformat(updated),
                configuration=parse_json(configuration),
            )

    def _parse_turn(self, row: Sequence[Any], conversation_id: str) -> TurnRecord:
        number, turn_id, text, checksum = row
        with self._checked(f"turn {number} of conversation {conversation_id!r}"):
            record = TurnRecord.from_dict(parse_json(text))
            if checksum is not None and checksum != _compute_checksum(number, turn_id, text):
                raise ValueError("its checksum is another one")
            return record

    @contextmanager
    def _checked(self, place: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError) as error:
            raise self._damaged(place, error) from error

    def _damaged(self, place: str, reason: object) -> ConversationsUnusable:
        return ConversationsUnusable(
            f"conversations: {self._transactions.name}: {place} is damaged ({reason}). "
            "Delete the conversation."
        )


def _open_transactions(database: str) -> Transactions:
    """Open a path or an address. Raises ConfigError."""
    scheme, is_address, place = database.partition("://")
    if is_address and not (scheme == "sqlite" and place.startswith("/") and place.strip("/")):
        return open_database(database, "conversations").open_transactions()
    path = unquote(place.removeprefix("/")) if is_address else database
    if not path.strip() or "\0" in path:
        raise ConfigError(
            f"conversations: {path!r} is not the name of a file; conversations.db is one"
        )
    return SqliteTransactions(Path(path).expanduser().absolute())


def hash_id(conversation_id: str) -> str:
    """Hash an id to 32 digits: PostgreSQL's indexes take texts of 2,700 bytes at most."""
    return blake2b(conversation_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def escape(text: str) -> str:
    r"""Escape null characters ("\0") and half surrogate pairs ("\ud83d") for databases."""
    escaped = text.replace("\\", "\\\\").replace("\0", "\\0")
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def unescape(text: str) -> str:
    """Return a text as it was before `escape`. Raises TypeError for anything but a text."""
    return _ESCAPED.sub(_unescape_character, text)


def _unescape_character(found: re.Match[str]) -> str:
    code = found[1]
    if code == "0":
        return "\0"
    return code if code == "\\" else chr(int(code[1:], 16))


def _format_turn(record: TurnRecord, version: int) -> dict[str, Any]:
    return {
        "turn_id": escape(record.turn_id),
        "version": version,
        "record": _format_plain(record.to_dict()),
    }


def _make_checksum(row: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a turn's checksum."""
    place = {name: row[name] for name in ("conversation", "number", "version")}
    checksum = _compute_checksum(row["number"], row["turn_id"], row["record"])
    return {**place, "checksum": checksum}


def _compute_checksum(number: int, turn_id: str, record: str) -> str:
    text = f"{number} {turn_id} {record}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _format_time(time: datetime | None = None) -> str:
    """Format a time, by default now, in UTC, so that texts sort like times."""
    return (time or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="microseconds")


def _format_plain(value: Any) -> str:
    """Format JSON, with half surrogate pairs, which no database takes, escaped as JSON does it."""
    return format_json(value).encode("utf-8", "backslashreplace").decode("utf-8")
