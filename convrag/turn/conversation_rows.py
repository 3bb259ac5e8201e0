"""The rows of conversations and turns: made of sessions and records, and checked when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from convrag.api.records import TurnRecord
from convrag.store.strict_json import format_json, parse_json
from convrag.turn.session import ConversationInfo, Session

try:
    import orjson
except ImportError:  # it comes with task=serve
    orjson = None


class DamagedRow(Exception):
    """A row was not written by convrag, or was changed since; the message says which, and what is wrong."""


def hash_id(conversation_id: str) -> str:
    """Hash an id to 32 digits: PostgreSQL's indexes take texts of 2,700 bytes at most."""
    return blake2b(conversation_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def format_time(time: datetime) -> str:
    """Format a time in UTC, with as many digits as any other: texts sort like times."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def format_session(session: Session) -> dict[str, Any]:
    """Make the row of a conversation without turns."""
    return {
        "key": hash_id(session.id),
        "id": session.id,
        "title": "",
        "model": session.model,
        "domain": session.domain,
        "configuration": _format_plain(session.configuration),
        "version": 0,
        "created": format_time(session.created),
        "updated": format_time(session.updated),
    }


def format_turn(record: TurnRecord) -> dict[str, Any]:
    """Make the fields of a turn's row that its record decides."""
    return {"turn_id": record.turn_id, "record": _format_plain(record.to_dict())}


def parse_session(row: Any) -> Session:
    """Make a session, without turns, of a conversation's row. Raises DamagedRow."""
    with _checked(f"conversation {row.id!r}"):
        return Session(
            row.id,
            row.domain,
            model=row.model,
            configuration=_parse_configuration(row.configuration),
            created=datetime.fromisoformat(row.created),
            updated=datetime.fromisoformat(row.updated),
            number=int(row.number),
            version=int(row.version),
        )


def parse_info(row: Any) -> ConversationInfo:
    """Make the entry of a list of a conversation's row, with the number of its turns. Raises DamagedRow."""
    with _checked(f"conversation {row.id!r}"):
        created, updated = datetime.fromisoformat(row.created), datetime.fromisoformat(row.updated)
        configuration = _parse_configuration(row.configuration)
        return ConversationInfo(
            row.id, row.title, row.model, row.domain, int(row.turns), created, updated, configuration
        )


def parse_turn(row: Any, conversation_id: str) -> TurnRecord:
    """Make the record of a turn's row. Raises DamagedRow."""
    with _checked(f"turn {row.number} of conversation {conversation_id!r}"):
        return TurnRecord.from_dict(parse_json(row.record))


@contextmanager
def _checked(place: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DamagedRow(f"{place} is damaged ({error})") from error


def _parse_configuration(text: str) -> Mapping[str, Any]:
    configuration = parse_json(text)
    if not isinstance(configuration, Mapping) or not all(map(_is_mapping, configuration.values())):
        raise ValueError("its configuration is no object of objects")
    return configuration


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _format_plain(value: Any) -> str:
    """Format JSON, by orjson where it is installed: a tenth of the time. Half surrogate pairs are escaped as JSON does
    it: no database takes them.
    """
    if orjson:
        with suppress(TypeError):  # what it does not write: half a pair, an integer of more than 64 bits, an object
            return str(orjson.dumps(value), "utf-8")
    return format_json(value).encode("utf-8", "backslashreplace").decode("utf-8")
