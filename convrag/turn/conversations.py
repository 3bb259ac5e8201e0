"""The conversations of a pipeline, in memory and, if there is a database, for good.

Each belongs to a configuration: options, and the parameters that bear on results.
"""

import builtins
import time
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from convrag.api.databases import ConversationStore
from convrag.api.errors import ConfigError, ConversationChanged, OtherConfiguration
from convrag.api.groups import OPTION_KEY
from convrag.api.records import TurnRecord
from convrag.api.session import ConversationInfo, Session, to_turn
from convrag.concurrency.cancellation import hold
from convrag.concurrency.locks import ForkAware
from convrag.registry import plugins

MAX_CONVERSATIONS = 10_000
"""How many conversations are kept in memory by default."""

SETTINGS = "settings"
RESULT_SETTINGS = ("top_k", "top_n", "history")
"""The settings that bear on results."""


class Conversations(ForkAware):
    """The conversations of a pipeline by id, in memory and, if there is a database, from one
    process to the next.

        chat = Pipeline.compose(conversations=Conversations("conversations.db"))

    Several processes may use one database: a turn that was answered while another process added one
    is refused.

    Args:
        database: keeps each turn with its whole record: the path of an SQLite file, which is made
            where it is missing, or an address of PostgreSQL,
            "postgresql+psycopg://user@host/database". None keeps turns in memory alone.
        limit: the number of conversations in memory; the least recently used one is dropped first.
            One that is not in a database, too, begins anew if it goes on after that. None keeps
            all.
        ttl: seconds after which an unused conversation is dropped from memory.

    Raises:
        ConfigError: `database` is no path, and no address of SQLite or PostgreSQL.
        ConversationsUnusable: the database cannot be opened. All methods raise it where it cannot
            be used.
    """

    def __init__(
        self,
        database: Path | str | None = None,
        *,
        limit: int | None = MAX_CONVERSATIONS,
        ttl: float | None = None,
    ) -> None:
        self.limit = limit
        self.ttl = ttl
        self._database: ConversationStore | None = None
        if database is not None:
            self._database = plugins.load().manager.hook.convrag_open_conversations(
                database=str(database)
            )
        self._in_memory: OrderedDict[str, tuple[Session, float]] = OrderedDict()
        self._referenced: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """All conversations that are still referenced. A turn in progress keeps its conversation if
        memory drops it.
        """
        super().__init__()

    def get(self, conversation_id: str) -> Session | None:
        """Return the conversation with an id; None if there is none."""
        found = self.find(conversation_id)
        if (
            found
            and found.number is not None
            and self._database
            and not self._database.exists(conversation_id)
        ):
            self._forget(conversation_id)  # another process has deleted it
            return None
        return found

    def find(self, conversation_id: str) -> Session | None:
        """Like `get`, without asking the database where memory has it: another process may have
        deleted it.
        """
        with self._guard:
            self._drop_unused()
            if conversation_id in self._in_memory:
                return self._keep_in_memory(self._in_memory[conversation_id][0])
            if (in_use := self._referenced.get(conversation_id)) is not None:
                return self._keep_in_memory(in_use)
        if self._database is None or (session := self._database.load(conversation_id)) is None:
            return None
        return self._keep(session)

    def begin(
        self,
        conversation_id: str,
        domain: str,
        *,
        configuration: Mapping[str, Any] | None = None,
        model: str = "",
    ) -> Session:
        """Return the conversation with an id; if there is none, begin one. Its first turn brings it
        into the database.

        Args:
            conversation_id: any text.
            domain: the corpus that a new one is about.
            configuration: `Pipeline.configuration` of the pipeline that begins it.
            model: the name that a server gives to that pipeline.
        """
        if known := self.find(conversation_id):
            return known
        return self._keep(
            Session(conversation_id, domain, configuration=configuration or {}, model=model)
        )

    def open(
        self,
        conversation_id: str,
        domain: str,
        *,
        configuration: Mapping[str, Any] | None = None,
        model: str = "",
    ) -> Session:
        """Like `begin`; but a new one is in the database at once, for other processes and in lists."""
        session = self.begin(conversation_id, domain, configuration=configuration, model=model)
        if self._database and session.number is None:
            with hold(session.lock):
                self._database.refresh(session)
                if session.number is None:
                    self._database.insert(session)
        return session

    def refresh(self, session: Session) -> None:
        """Read what other processes have changed in a conversation. Hold its lock, and call it
        before each turn.
        """
        if self._database:
            self._database.refresh(session)

    def append(self, session: Session, record: TurnRecord) -> None:
        """Add a turn to a conversation. Hold its lock.

        Raises:
            ConversationChanged: it was continued, reset or deleted while the turn was answered; the
                turn is not added.
        """
        self._check_kept(session)
        if self._database:
            self._database.append(session, record)
        self._add_turn(session, record)

    def replace_last(self, session: Session, record: TurnRecord) -> None:
        """Put another turn in the place of a conversation's last one. Hold its lock. Raises
        ConversationChanged.
        """
        self._check_kept(session)
        if self._database:
            self._database.replace_last(session, record)
        del session.history[-1:]
        session.stage_state.clear()  # stages may keep notes on the turn that is removed
        self._add_turn(session, record)

    def ids(self) -> builtins.list[str]:
        """Return the ids of all conversations, in memory and in the database, sorted."""
        kept = {info.id for info in self._database.list(None)} if self._database else set()
        with self._guard:
            return sorted({*self._in_memory, *kept})

    def list(self, limit: int = 50, offset: int = 0) -> builtins.list[ConversationInfo]:
        """List conversations that are in the database, or in memory where there is none; those used
        last come first.
        """
        if self._database:
            return self._database.list(limit, offset)
        with self._guard:
            sessions = sorted(
                (session for session, _ in self._in_memory.values()), key=lambda each: each.updated
            )
        return [session.describe() for session in reversed(sessions)][offset : offset + limit]

    def records(self, conversation_id: str) -> builtins.list[TurnRecord]:
        """Return the records of a conversation's turns, in their order; an empty list for an
        unknown id.

        Raises:
            ConfigError: there is no database. Memory keeps of a turn what later turns need, and no
                record.
        """
        return self._need_database().read_records(conversation_id)

    def add_feedback(self, conversation_id: str, said: Mapping[str, Any]) -> None:
        """Note what somebody said of a conversation, a row of JSON; an unknown id has no effect.

        It goes with the conversation: `reset` and `delete` remove it.

        Raises:
            ConfigError: there is no database.
        """
        self._need_database().add_feedback(conversation_id, said)

    def read_feedback(self, conversation_id: str | None = None) -> builtins.list[dict[str, Any]]:
        """Return the rows that were added to a conversation, or to any, in their order. Raises as
        `add_feedback`.
        """
        return self._need_database().read_feedback(conversation_id)

    def reset(self, conversation_id: str) -> None:
        """Remove the turns of a conversation, which stays and begins anew; an unknown id has no
        effect.
        """
        if self._database:
            self._database.clear(conversation_id)
        if session := self._forget(conversation_id):
            self._keep(
                Session(
                    session.id,
                    session.domain,
                    model=session.model,
                    configuration=session.configuration,
                )
            )

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
        session.add_turn(to_turn(record))
        session.attempt, session.updated = record.attempt, datetime.now(UTC)

    def _check_kept(self, session: Session) -> None:
        if session.dropped:
            raise ConversationChanged(session.id)

    def _drop_unused(self) -> None:
        """Drop the conversations that have been unused for too long from memory."""
        if self.ttl is not None:
            since = time.monotonic() - self.ttl
            for unused in [key for key, (_, used) in self._in_memory.items() if used < since]:
                del self._in_memory[unused]

    def _keep(self, session: Session) -> Session:
        """Keep a conversation in memory, and return it; where another thread was first, return the
        one that it kept.
        """
        with self._guard:
            return self._keep_in_memory(self._referenced.get(session.id) or session)

    def _keep_in_memory(self, session: Session) -> Session:
        """Put a conversation into memory as the most recently used one, and drop others beyond the
        limit.
        """
        self._referenced[session.id] = session
        self._in_memory[session.id] = (session, time.monotonic())
        self._in_memory.move_to_end(session.id)
        while self.limit is not None and len(self._in_memory) > self.limit:
            self._in_memory.popitem(last=False)
        return session

    def _forget(self, conversation_id: str) -> Session | None:
        """Drop a conversation; a turn that is in progress cannot be added to it any more."""
        with self._guard:
            session = self._referenced.pop(conversation_id, None)
            self._in_memory.pop(conversation_id, None)
            if session is not None:
                session.dropped = True
            return session


def check_configuration(session: Session, configuration: Mapping[str, Any]) -> None:
    """Raise OtherConfiguration unless a conversation was begun with this configuration.

    What is not known (of a pipeline that was built by hand) differs from nothing.
    """
    known = session.configuration and configuration
    if known and (differences := find_differences(session.configuration, configuration)):
        raise OtherConfiguration(session.id, differences)


def find_differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Find what differs between two configurations: ("rewriter=mmr", "rewriter=dhrag"),
    ("top_k=10", "top_k=20").

    Where the options of a place differ, their parameters, and the stages that are injected there,
    are not compared. A parameter that one of the two does not know, as after an upgrade, does not
    differ. A place that only one of the two has (the other uses no clusterer, say) is told where
    nothing else differs.
    """
    places = sorted({*begun, *now}, key=lambda place: (place.count("."), place))
    other: list[str] = []
    differences: list[tuple[str, str]] = []
    missing: list[tuple[str, str]] = []
    for place in places:
        if any(place.startswith(f"{parent}.") for parent in other):
            continue
        first, second = begun.get(place, {}), now.get(place, {})
        if first.get(OPTION_KEY) != second.get(OPTION_KEY):
            other.append(place)
            found = differences if first and second else missing
            found.append(
                (
                    f"{place}={first.get(OPTION_KEY, 'none')}",
                    f"{place}={second.get(OPTION_KEY, 'none')}",
                )
            )
            continue
        prefix = "" if place == SETTINGS else f"{place}."
        differences += [
            (f"{prefix}{name}={first[name]}", f"{prefix}{name}={second[name]}")
            for name in first
            if name in second and first[name] != second[name]
        ]
    return differences or missing
