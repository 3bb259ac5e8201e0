"""Locks by key in PostgreSQL, across threads, processes and machines (see `convrag.store.postgres_tables`).

A process has one session whose advisory lock tells that it lives. When the process is killed, the server ends the
session, and its keys are free. When its machine is cut off, the same happens after some seconds, while it still
computes: so each key that is locked has a token, and `PostgresEntries.put` takes no value under an old one.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import psycopg

from convrag.store.cancellation import check_cancelled, when_cancelled
from convrag.store.compute_slots import waiting
from convrag.store.forking import ForkAware
from convrag.store.postgres_connections import Connection, PostgresConnections, forget_inherited
from convrag.store.unlock_listener import CHANNEL, UnlockListener

T = TypeVar("T")

# Each statement takes keys in sorted order, so that no two of them wait for each other.
_TAKE = (
    "INSERT INTO convrag_locks AS held (key, owner) SELECT key, %s FROM unnest(%s::text[]) AS wanted (key) "
    'ORDER BY key COLLATE "C" ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, token = excluded.token '
    "WHERE pg_try_advisory_xact_lock_shared(held.owner) RETURNING key, token"  # which is free if its session has ended
)
_FREE = (
    "WITH mine AS (SELECT key FROM convrag_locks WHERE key = ANY(%s) AND owner = %s ORDER BY key FOR UPDATE), gone AS ("
    "DELETE FROM convrag_locks AS held USING mine WHERE held.key = mine.key RETURNING held.key, waited) "
    f"SELECT pg_notify('{CHANNEL}', md5(key)) FROM gone WHERE waited"
)
_WAIT = (
    "UPDATE convrag_locks SET waited = true WHERE key = %s AND NOT pg_try_advisory_xact_lock_shared(owner) RETURNING 1"
)
_FIND_FREE = (
    "SELECT wanted.key FROM unnest(%s::text[]) AS wanted (key) LEFT JOIN convrag_locks AS held USING (key) "
    "WHERE held.key IS NULL OR pg_try_advisory_xact_lock_shared(held.owner)"
)
_TAKE_AGAIN = (
    "INSERT INTO convrag_locks AS held (key, owner, token) SELECT key, %s, token FROM unnest(%s::text[], %s::bigint[]) "
    'AS mine (key, token) ORDER BY key COLLATE "C" ON CONFLICT (key) DO UPDATE SET owner = excluded.owner '
    "WHERE held.token = excluded.token"
)
_CLEAN_UP = (  # the rows of sessions that have ended: of processes that were killed, and our own that were lost
    "WITH gone AS (DELETE FROM convrag_locks WHERE owner <> %s "
    "AND (owner = %s OR pg_try_advisory_xact_lock_shared(owner)) "
    f"RETURNING key, waited) SELECT pg_notify('{CHANNEL}', md5(key)) FROM gone WHERE waited"
)


class PostgresLocks(ForkAware):
    """The locks of a process.

    Args:
        connections: to the server, whose tables are there.
    """

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections
        self._listener = UnlockListener(connections.connect, partial(_find_free, connections))
        self._forget()
        super().__init__()

    @property
    def owner(self) -> int:
        """The number of the session that has the keys; 0 before the first one is locked."""
        return self._owner

    @contextmanager
    def lock_keys(self, keys: Iterable[str]) -> Iterator[None]:
        """Lock the keys during the block, waiting for each of them.

        A thread that waits for a key has locked those before it alone, in sorted order: no two wait for each other. If
        the block is copied into a forked child, the child does not have the locks.
        """
        wanted = sorted(set(keys))
        process = os.getpid()
        self._claim(wanted)
        try:
            try:
                self._take(wanted)
                yield
            finally:
                if process == os.getpid():
                    self._free(wanted)
        finally:
            if process == os.getpid():
                self._give_up_claim(wanted)

    def find_tokens(self, keys: Iterable[str]) -> dict[str, int]:
        """Return key -> token, of those of the keys that this process has locked, or had when it last looked."""
        with self._guard:
            return {key: self._tokens[key] for key in keys if key in self._tokens}

    def close(self) -> None:
        """End the session; the keys are free."""
        with self._using:
            self._end_session()

    def _reset_in_child(self) -> None:
        """Forget what is the parent's."""
        if self._session is not None:
            forget_inherited(self._session)
        self._forget()

    def _forget(self) -> None:
        self._claimed: set[str] = set()
        self._claims: dict[threading.Event, Sequence[str]] = {}
        """An event for each thread that waits for another thread of this process, with the keys that it wants."""
        self._tokens: dict[str, int] = {}
        self._using = threading.Lock()
        """Held while the session executes a statement."""
        self._session: Connection | None = None
        self._owner = 0

    def _claim(self, wanted: Sequence[str]) -> None:
        """Claim keys against the other threads of this process, all of them at once."""
        event = threading.Event()
        while True:
            with self._guard:
                if self._claimed.isdisjoint(wanted):
                    self._claimed.update(wanted)
                    self._claims.pop(event, None)
                    return
                event.clear()
                self._claims[event] = wanted
            try:
                _wait(event)
            except BaseException:
                with self._guard:
                    self._claims.pop(event, None)
                raise

    def _give_up_claim(self, keys: Sequence[str]) -> None:
        with self._guard:
            self._claimed.difference_update(keys)
            for event, wanted in self._claims.items():
                if not self._claimed.intersection(wanted):
                    event.set()

    def _take(self, wanted: Sequence[str]) -> None:
        """Lock keys, which this thread has claimed, against other processes."""
        rest = list(wanted)
        while rest:
            got = self._execute(partial(self._try_taking, rest))
            blocked = next((number for number, key in enumerate(rest) if key not in got), len(rest))
            with self._guard:
                self._tokens.update((key, got[key]) for key in rest[:blocked])
            if surplus := [key for key in rest[blocked:] if key in got]:
                self._free(surplus)
            if rest := rest[blocked:]:
                self._await(rest[0])

    def _try_taking(self, keys: list[str], session: Connection) -> dict[str, int]:
        """Lock those of the keys that are free; return key -> token."""
        return dict(session.execute(_TAKE, [self._owner, keys]).fetchall())

    def _await(self, key: str) -> None:
        """Wait until a key, which another process has locked, may be free."""
        with self._listener.wake_for(key) as event:
            if self._connections.run(lambda connection: connection.execute(_WAIT, [key]).fetchall()):
                _wait(event)

    def _free(self, keys: Sequence[str]) -> None:
        """Free keys; where that cannot be said to the server, the end of the session frees them."""
        with self._guard:
            for key in keys:
                self._tokens.pop(key, None)
        with self._using:
            if self._session is None:
                return
            try:
                self._session.execute(_FREE, [list(keys), self._owner])
            except (psycopg.Error, OSError):
                self._end_session()

    def _execute(self, work: Callable[[Connection], T]) -> T:
        """Do some work with the session, again with a new one where it is lost."""

        def attempt() -> T:
            with self._using:
                try:
                    return work(self._session or self._begin_session())
                except (psycopg.Error, OSError):
                    if self._session is not None and self._session.closed:
                        self._end_session()
                    raise

        return self._connections.retry(attempt)

    def _begin_session(self) -> Connection:
        """Begin a session, and keep what the one before had, as far as nobody has taken it."""
        connection = self._connections.connect()
        before, owner = self._owner, secrets.randbits(63)
        with self._guard:
            tokens = dict(sorted(self._tokens.items()))
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", [owner])
            if tokens:
                connection.execute(_TAKE_AGAIN, [owner, list(tokens), list(tokens.values())])
            connection.execute(_CLEAN_UP, [owner, before])
        except BaseException:
            connection.close()
            raise
        self._session, self._owner = connection, owner
        return connection

    def _end_session(self) -> None:
        if self._session is not None:
            with suppress(psycopg.Error, OSError):
                self._session.close()
            self._session = None

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            self._end_session()


def _find_free(connections: PostgresConnections, keys: Sequence[str]) -> list[str]:
    rows = connections.run(lambda connection: connection.execute(_FIND_FREE, [list(keys)]).fetchall())
    return [key for (key,) in rows]


def _wait(event: threading.Event) -> None:
    """Wait for an event. Raises Cancelled as soon as the calls of this thread are cancelled."""
    with waiting(), when_cancelled(event.set):
        event.wait()
    check_cancelled()
