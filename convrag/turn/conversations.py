"""The conversations of a pipeline, in memory and, if there is a database, for good.

Each belongs to a configuration: options, and the parameters that bear on results.
"""

import builtins
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from convrag.api.databases import ConversationStore
from convrag.api.errors import ConfigError, ConversationChanged, OtherConfiguration
from convrag.api.groups import OPTION_KEY
from convrag.api.records import TurnRecord
from convrag.api.session import ConversationInfo, Session, count_characters, to_turn
from convrag.concurrency.cancellation import hold
from convrag.concurrency.locks import ForkAware
from convrag.registry import plugins

MAX_CONVERSATIONS = 10_000
"""The number of conversations in memory by default."""

MAX_CHARACTERS = 200_000_000
"""The characters of the conversations in memory by default."""

SETTINGS = "settings"
"""The place of the settings in a configuration."""

RESULT_SETTINGS = ("top_k", "top_n", "history")
"""The settings that bear on results."""


@dataclass(slots=True)
class _Kept:
    """A conversation in memory.

    Args:
        session: the conversation.
        last_use: when it was last used, by the monotonic clock.
        characters: of its questions, answers and passages.
    """

    session: Session
    last_use: float
    characters: int


class Conversations(ForkAware):
    """The conversations of a pipeline by id, in memory and in a database if there is one.

        chat = Pipeline.compose(conversations=Conversations("conversations.db"))

    Several processes may use one database: a turn that was answered while another process added one
    is refused.

    Args:
        database: keeps each turn with its whole record: the path of an SQLite file, which is
            created if it is missing, or an address of PostgreSQL,
            "postgresql+psycopg://user@host/database". None keeps turns in memory only.
        limit: the number of conversations in memory; the least recently used one is dropped first.
            A dropped conversation that is not in a database begins anew. None keeps all.
        characters: the most characters of the conversations in memory, with the passages that were
            shown; beyond them, conversations are dropped as beyond `limit`, but for the one that is
            used. None sets no bound.
        ttl: seconds after which an unused conversation is dropped from memory.

    Raises:
        ConfigError: `database` is neither a path nor an address of SQLite or PostgreSQL.
        ConversationsUnusable: the database cannot be opened. All methods raise it if it cannot be
            used.
    """

    def __init__(
        self,
        database: Path | str | None = None,
        *,
        limit: int | None = MAX_CONVERSATIONS,
        characters: int | None = MAX_CHARACTERS,
        ttl: float | None = None,
    ) -> None:
        self.limit = limit
        self.characters = characters
        self.ttl = ttl
        self._database: ConversationStore | None = None
        if database is not None:
            hook = plugins.load().manager.hook
            self._database = hook.convrag_open_conversations(database=str(database))
        self._in_memory: OrderedDict[str, _Kept] = OrderedDict()
        """The conversations by id, the least recently used first."""
        self._characters = 0
        """The characters of all conversations in memory."""
        self._referenced: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """All conversations that are in use, also by a turn in progress after memory drops them."""
        super().__init__()

    def get(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id; None if there is none."""
        session = self.find(conversation_id)
        is_stored = session is not None and session.number is not None
        if is_stored and self._database and not self._database.exists(conversation_id):
            self._forget(conversation_id)  # another process has deleted it
            return None
        return session

    def find(self, conversation_id: str) -> Session | None:
        """Return a conversation like `get`, without asking the database if it is in memory.

        Another process may have deleted it.
        """
        with self._guard:
            self._drop_unused()
            known = self._referenced.get(conversation_id)
            if known is not None:
                return self._put_in_memory(known)
        session = self._database.load(conversation_id) if self._database else None
        return None if session is None else self._add(session)

    def begin(
        self,
        conversation_id: str,
        domain: str,
        *,
        configuration: Mapping[str, Any] | None = None,
        model: str = "",
    ) -> Session:
        """Return the conversation with an id; begin one if there is none.

        A new one gets into the database with its first turn.

        Args:
            conversation_id: any text.
            domain: the corpus that a new one is about.
            configuration: `Pipeline.configuration` of the pipeline that begins it.
            model: the name that a server gives to that pipeline.
        """
        if known := self.find(conversation_id):
            return known
        session = Session(conversation_id, domain, configuration=configuration or {}, model=model)
        return self._add(session)

    def open(
        self,
        conversation_id: str,
        domain: str,
        *,
        configuration: Mapping[str, Any] | None = None,
        model: str = "",
    ) -> Session:
        """Return a conversation like `begin`, and put a new one into the database at once."""
        session = self.begin(conversation_id, domain, configuration=configuration, model=model)
        if self._database and session.number is None:
            with hold(session.lock):
                self._database.refresh(session)
                if session.number is None:
                    self._database.insert(session)
        return session

    def refresh(self, session: Session) -> None:
        """Read the changes of other processes to a conversation.

        Hold its lock, and call it before each turn.
        """
        if not self._database:
            return
        before = session.history
        self._database.refresh(session)
        if session.history is not before:
            self._note_growth(session, session.count_characters() - self._get_size(session))

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn to a conversation. Hold its lock.

        Raises:
            ConversationChanged: it was continued, reset or deleted while the turn was answered. The
                turn is not added.
        """
        self._check_not_dropped(session)
        if self._database:
            self._database.append(session, record)
        self._add_turn(session, record)

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Replace the last turn of a conversation. Hold its lock. Raises ConversationChanged."""
        self._check_not_dropped(session)
        if self._database:
            self._database.replace_last(session, record)
        self._note_growth(session, -count_characters(session.history.pop()))
        session.stage_state.clear()  # it may be about the turn that is removed
        self._add_turn(session, record)

    def ids(self) -> builtins.list[str]:
        """Return the ids of all conversations, in memory and in the database, sorted."""
        stored = {info.id for info in self._database.list(None)} if self._database else set()
        with self._guard:
            return sorted({*self._in_memory, *stored})

    def list(self, limit: int = 50, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List the conversations of the database, else of memory; the latest used come first."""
        if self._database:
            return self._database.list(limit, offset)
        with self._guard:
            sessions = [kept.session for kept in self._in_memory.values()]
        sessions.sort(key=lambda session: session.updated)
        sessions.reverse()  # of two that were used at the same moment, the later one comes first
        return [session.describe() for session in sessions[offset : offset + limit]]

    def records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Return the records of a conversation's turns in order; an empty list for an unknown id.

        Raises:
            ConfigError: there is no database. Memory keeps only what later turns need.
        """
        return self._need_database().read_records(conversation_id)

    def find_record(self, conversation_id: str, number: int) -> TurnRecord | None:
        """Return the record of a turn, without reading others; None if there is no such turn.

        Args:
            conversation_id: the conversation.
            number: of the turn, from 1; 0 is the last one.

        Raises:
            ConfigError: there is no database.
        """
        return self._need_database().read_record(conversation_id, number)

    def count_turns(self, conversation_id: str) -> int:
        """Count the turns of a conversation; 0 for an unknown id. Raises as `find_record`."""
        return self._need_database().count_turns(conversation_id)

    def add_feedback(self, conversation_id: str, feedback: Mapping[str, Any]) -> None:
        """Add feedback on a conversation, a row of JSON; an unknown id has no effect.

        `reset` and `delete` remove it with the conversation.

        Raises:
            ConfigError: there is no database.
        """
        self._need_database().add_feedback(conversation_id, feedback)

    def read_feedback(self, conversation_id: str | None = None) -> builtins.list[dict[str, Any]]:
        """Return the feedback on a conversation, or on all, in order. Raises as `add_feedback`."""
        return self._need_database().read_feedback(conversation_id)

    def reset(self, conversation_id: str) -> None:
        """Remove the turns of a conversation, which begins anew; an unknown id has no effect."""
        if self._database:
            self._database.clear(conversation_id)
        if old := self._forget(conversation_id):
            new = Session(old.id, old.domain, model=old.model, configuration=old.configuration)
            self._add(new)

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation; an unknown id has no effect."""
        if self._database:
            self._database.delete(conversation_id)
        self._forget(conversation_id)

    def close(self) -> None:
        """Close the connections to the database that no thread uses."""
        if self._database:
            self._database.close()

    def _need_database(self) -> ConversationStore:
        if not self._database:
            raise ConfigError(
                "records are kept in a database alone: Conversations('conversations.db')"
            )
        return self._database

    def _add_turn(self, session: Session, record: TurnRecord) -> None:
        turn = to_turn(record)
        session.add_turn(turn)
        session.attempt = record.attempt
        session.updated = datetime.now(UTC)
        self._note_growth(session, count_characters(turn))

    def _check_not_dropped(self, session: Session) -> None:
        if session.dropped:
            raise ConversationChanged(session.id)

    def _drop_unused(self) -> None:
        """Drop the conversations from memory that have been unused for too long."""
        if self.ttl is None:
            return
        oldest = time.monotonic() - self.ttl
        while self._in_memory:
            conversation_id, kept = next(iter(self._in_memory.items()))
            if kept.last_use >= oldest:
                break
            self._drop(conversation_id)

    def _add(self, session: Session) -> Session:
        """Put a conversation into memory and return it; if another thread was first, return its."""
        with self._guard:
            return self._put_in_memory(self._referenced.get(session.id) or session)

    def _put_in_memory(self, session: Session) -> Session:
        """Make a conversation the most recently used one, and drop others beyond the limit."""
        self._referenced[session.id] = session
        kept = self._in_memory.get(session.id)
        if kept is None:
            kept = _Kept(session, 0.0, session.count_characters())
            self._in_memory[session.id] = kept
            self._characters += kept.characters
        kept.last_use = time.monotonic()
        self._in_memory.move_to_end(session.id)
        self._drop_beyond_limits()
        return session

    def _get_size(self, session: Session) -> int:
        """Return the characters that count for a conversation in memory; 0 if it was dropped."""
        with self._guard:
            kept = self._in_memory.get(session.id)
            return kept.characters if kept else 0

    def _note_growth(self, session: Session, characters: int) -> None:
        """Count characters that a conversation has grown by, or shrunk by."""
        with self._guard:
            kept = self._in_memory.get(session.id)
            if kept is None:  # it was dropped while a turn was in progress
                return
            kept.characters += characters
            self._characters += characters
            self._drop_beyond_limits()

    def _drop_beyond_limits(self) -> None:
        """Drop the least recently used conversations beyond the limits."""
        while self._is_over_limit():
            self._drop(next(iter(self._in_memory)))

    def _is_over_limit(self) -> bool:
        """Whether a conversation has to leave memory; the last one that was used may stay."""
        too_many = self.limit is not None and len(self._in_memory) > self.limit
        too_long = self.characters is not None and self._characters > self.characters
        return too_many or (too_long and len(self._in_memory) > 1)

    def _drop(self, conversation_id: str) -> None:
        """Drop a conversation from memory; an unknown id has no effect."""
        kept = self._in_memory.pop(conversation_id, None)
        if kept is not None:
            self._characters -= kept.characters

    def _forget(self, conversation_id: str) -> Session | None:
        """Drop a conversation; a turn that is in progress cannot be added to it any more."""
        with self._guard:
            session = self._referenced.pop(conversation_id, None)
            self._drop(conversation_id)
            if session is not None:
                session.dropped = True
            return session


def check_configuration(session: Session, configuration: Mapping[str, Any]) -> None:
    """Raise OtherConfiguration unless a conversation was begun with this configuration.

    The unknown configuration of a pipeline that was built by hand fits any other.
    """
    if not session.configuration or not configuration:
        return
    differences = find_differences(session.configuration, configuration)
    if differences:
        raise OtherConfiguration(session.id, differences)


def find_differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Find the differences of two configurations: ("rewriter=mmr", "rewriter=dhrag").

    Where the options of a place differ, their parameters, and the stages that are injected there,
    are not compared. A parameter that only one of the two knows, as after an upgrade, does not
    count. A place that only one of the two has (the other uses no clusterer, say) counts if nothing
    else differs.
    """
    places = sorted({*begun, *now}, key=lambda place: (place.count("."), place))
    with_other_option: list[str] = []
    differences: list[tuple[str, str]] = []
    missing: list[tuple[str, str]] = []
    for place in places:
        if any(place.startswith(f"{parent}.") for parent in with_other_option):
            continue
        first = begun.get(place, {})
        second = now.get(place, {})
        if first.get(OPTION_KEY) == second.get(OPTION_KEY):
            differences += _find_other_parameters(place, first, second)
            continue
        with_other_option.append(place)
        options = (first.get(OPTION_KEY, "none"), second.get(OPTION_KEY, "none"))
        difference = (f"{place}={options[0]}", f"{place}={options[1]}")
        if first and second:
            differences.append(difference)
        else:
            missing.append(difference)
    return differences or missing


def _find_other_parameters(
    place: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Find the parameters that both know and that differ: ("top_k=10", "top_k=20")."""
    prefix = "" if place == SETTINGS else f"{place}."
    return [
        (f"{prefix}{name}={value}", f"{prefix}{name}={second[name]}")
        for name, value in first.items()
        if name in second and second[name] != value
    ]
