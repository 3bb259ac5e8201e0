"""The store's values in PostgreSQL, for processes on many machines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any
from weakref import WeakValueDictionary

import psycopg

from convrag.store.database import compute_checksum, is_damaged
from convrag.store.forking import making
from convrag.store.postgres_address import PostgresAddress
from convrag.store.postgres_connections import Connection, PostgresConnections
from convrag.store.postgres_locks import PostgresLocks
from convrag.store.postgres_tables import make_tables

log = logging.getLogger(__name__)

BATCH = 500
"""Values in one statement, at most ..."""

BATCH_BYTES = 32_000_000
"""... and their bytes, but for a single value that has more."""

_FIND = "SELECT key, kind, value, seconds, checksum, number FROM convrag_entries WHERE key = ANY(%s)"
_NEW = "unnest(%s::text[], %b::bytea[], %s::bigint[], %s::bigint[]) AS new (key, value, checksum, token)"
_INSERT = (
    "INSERT INTO convrag_entries AS old (key, kind, value, seconds, checksum, token) "
    'SELECT key, %s, value, %s::double precision, checksum, token FROM {new} ORDER BY key COLLATE "C" '
    "ON CONFLICT (key) DO UPDATE SET number = excluded.number, kind = excluded.kind, value = excluded.value, "
    "seconds = excluded.seconds, checksum = excluded.checksum, token = greatest(old.token, excluded.token)"
)
_PUT = _INSERT.format(new=_NEW)
_PUT_LOCKED = (  # a lock that nobody has taken since is still ours, or ours again: its row is locked until the end
    f"WITH new AS (SELECT * FROM {_NEW}), ours AS ("
    'INSERT INTO convrag_locks AS held (key, owner, token) SELECT key, %s, token FROM new ORDER BY key COLLATE "C" '
    "ON CONFLICT (key) DO UPDATE SET token = held.token RETURNING key, token) "
    + _INSERT.format(new="new JOIN ours USING (key, token)")
    + " WHERE old.token <= excluded.token RETURNING key"
)


class PostgresEntries:
    """Keeps values in PostgreSQL (see `convrag.store.entries.Entries`). Get it with `get_postgres_entries`.

    Args:
        url: the address, as SQLAlchemy has it.
    """

    def __init__(self, url: str) -> None:
        self._connections = PostgresConnections(PostgresAddress(url))
        self._locks = PostgresLocks(self._connections)
        self._has_tables = False
        self._has_warned = False

    @property
    def name(self) -> str:
        """The address, without user and password."""
        return self._connections.address.name

    def open(self) -> None:
        """Make the tables where they are missing."""
        if not self._has_tables:
            self._connections.run(lambda connection: make_tables(connection, self.name))
            self._has_tables = True

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds) of the sound entries; damaged ones are deleted."""
        found: dict[str, tuple[bytes, float]] = {}
        wanted = iter(keys)
        while batch := list(islice(wanted, BATCH)):
            rows = self._execute(_FIND, [batch], binary=True)
            damaged = []
            for *fields, number in rows:
                if is_damaged(*fields):
                    damaged.append(number)
                else:
                    found[fields[0]] = (fields[2], fields[3])
            if damaged:
                self._drop_damaged(damaged)
        return found

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> set[str]:
        """Keep values; those of keys that another process has locked since are refused."""
        tokens = self._locks.find_tokens(entries)
        free = {key: value for key, value in entries.items() if key not in tokens}
        for batch in _split(free):
            self._execute(_PUT, [kind, seconds, *_list_fields(batch, kind, seconds, dict.fromkeys(batch, 0))])
        kept: set[str] = set()
        for batch in _split({key: entries[key] for key in tokens}):
            fields = _list_fields(batch, kind, seconds, tokens)
            kept.update(key for (key,) in self._execute(_PUT_LOCKED, [*fields, self._locks.owner, kind, seconds]))
        return tokens.keys() - kept

    def lock_keys(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys during the block."""
        self.open()
        return self._locks.lock_keys(keys)

    def get_last_row(self) -> int:
        """Return the number of the newest entry."""
        ((last,),) = self._execute("SELECT coalesce(max(number), 0) FROM convrag_entries")
        return int(last)

    def count_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries after a number."""
        counts = "SELECT kind, count(*) FROM convrag_entries WHERE number > %s GROUP BY kind ORDER BY kind"
        rows = self._execute(counts, [row])
        return {kind: int(count) for kind, count in rows}

    def _execute(self, sql: str, values: Sequence[Any] = (), *, binary: bool = False) -> list[tuple[Any, ...]]:
        """Execute a statement and return its rows; tables that somebody has deleted are made anew."""
        self.open()

        def attempt(connection: Connection) -> list[tuple[Any, ...]]:
            try:
                cursor = connection.execute(sql, values, binary=binary)
            except psycopg.errors.UndefinedTable:
                make_tables(connection, self.name)
                cursor = connection.execute(sql, values, binary=binary)
            return cursor.fetchall() if cursor.description else []

        return self._connections.run(attempt)

    def _drop_damaged(self, numbers: Sequence[int]) -> None:
        """Delete damaged entries, unless they were put anew, and warn once."""
        self._execute("DELETE FROM convrag_entries WHERE number = ANY(%s)", [list(numbers)])
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: an entry was damaged (its checksum is wrong); it is computed again, as are others like it",
                self.name,
            )


def _split(entries: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Split entries into batches."""
    batch: dict[str, bytes] = {}
    size = 0
    for key, value in entries.items():
        if batch and (len(batch) == BATCH or size + len(value) > BATCH_BYTES):
            yield batch
            batch, size = {}, 0
        batch[key] = value
        size += len(value)
    if batch:
        yield batch


def _list_fields(batch: Mapping[str, bytes], kind: str, seconds: float, tokens: Mapping[str, int]) -> list[list[Any]]:
    """The columns of a batch: keys, values, checksums and tokens."""
    checksums = [compute_checksum(key, kind, value, seconds) for key, value in batch.items()]
    return [list(batch), list(batch.values()), checksums, [tokens[key] for key in batch]]


_entries: WeakValueDictionary[str, PostgresEntries] = WeakValueDictionary()


def get_postgres_entries(url: str) -> PostgresEntries:
    """Return the values at an address in this process: one object, for as long as anything refers to it."""
    with making:
        if (entries := _entries.get(url)) is None:
            entries = _entries[url] = PostgresEntries(url)
        return entries
