"""The store's values in PostgreSQL, and locks for calls of models.

The first process that opens the tables creates them. `convrag_entries` has the values; `number`
grows with each of them, and `token` is 0 (an earlier version used it). `convrag_store` has the
version of the tables.

The lock of a call is an advisory lock of a session that the process keeps for its locks. When the
process is killed, the server ends the session, and frees its locks. A process that loses the
session goes on without: in the worst case, two machines make the same call.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from typing import Any

import psycopg

from convrag.sdk.cancellation import sleep
from convrag.sdk.storage import BATCH, ForkAware, StoreUnusable, compute_checksum, is_damaged
from convrag_postgres.server import Address, Connection, Server, forget_inherited

log = logging.getLogger(__name__)

VERSION = 1
"""The version of the tables; a database with another version is refused."""

_LOCK = 0x636F6E7672616701
"""The advisory lock that is held while tables are created."""

_LONGEST_PAUSE = 0.5
"""Seconds between two tries to lock a key, at most."""

_CREATE = (
    "CREATE SEQUENCE IF NOT EXISTS convrag_numbers",
    'CREATE TABLE IF NOT EXISTS convrag_entries (key text COLLATE "C" PRIMARY KEY, '
    "number bigint NOT NULL DEFAULT nextval('convrag_numbers'), kind text NOT NULL, "
    "value bytea NOT NULL, seconds double precision NOT NULL, checksum bigint NOT NULL, "
    "token bigint NOT NULL)",
    # The values are compressed already
    "ALTER TABLE convrag_entries ALTER COLUMN value SET STORAGE EXTERNAL",
    "CREATE INDEX IF NOT EXISTS convrag_entries_by_number ON convrag_entries (number)",
    "CREATE TABLE convrag_store (version integer NOT NULL)",
    f"INSERT INTO convrag_store VALUES ({VERSION})",
)
_RIGHTS = " AND ".join(
    f"has_table_privilege('convrag_entries', '{right}')" for right in ("SELECT", "INSERT", "UPDATE")
)
_LOOK = (
    f"SELECT version, {_RIGHTS} AND has_sequence_privilege('convrag_numbers', 'USAGE'), "
    "current_setting('transaction_read_only') FROM convrag_store"
)
_FIND = "SELECT key, kind, value, seconds, checksum FROM convrag_entries WHERE key = ANY(%s)"
_PUT = (
    "INSERT INTO convrag_entries (key, kind, value, seconds, checksum, token) "
    "VALUES (%s, %s, %b, %s, %s, 0) "
    "ON CONFLICT (key) DO UPDATE SET number = excluded.number, kind = excluded.kind, "
    "value = excluded.value, seconds = excluded.seconds, checksum = excluded.checksum"
)


class PostgresEntries(ForkAware):
    """Keeps values in PostgreSQL (see `convrag.sdk.storage.Entries`).

    Args:
        address: the address of the database.
    """

    def __init__(self, address: Address) -> None:
        self.name = address.name
        """The address, without user and password."""
        # As SQLite's WAL: a server that loses power may lose the last half second.
        self._server = Server(address, StoreUnusable, synchronous_commit="off")
        self._has_tables = False
        self._has_warned = False
        self._session: Connection | None = None
        """The session that has the locks of this process."""
        self._session_lock = threading.Lock()
        super().__init__()

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            with suppress(psycopg.Error):
                self._session.close()  # type: ignore[union-attr]

    def open(self) -> None:
        """Create the tables that are missing."""
        if not self._has_tables:
            self._server.run(self._make_tables)
            self._has_tables = True

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds) of the sound entries.

        Damaged entries count as absent, so that they are computed again.
        """
        found: dict[str, tuple[bytes, float]] = {}
        wanted = iter(keys)
        while batch := list(islice(wanted, BATCH)):
            for row in self._fetch(_FIND, [batch]):
                if is_damaged(*row):
                    self._warn()
                else:
                    found[row[0]] = (row[2], row[3])
        return found

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> None:
        """Keep values in place of earlier ones.

        They are sorted, so that no two processes wait for each other.
        """
        self.open()
        rows = [
            (key, kind, value, seconds, compute_checksum(key, kind, value, seconds))
            for key, value in sorted(entries.items())
        ]
        self._server.run(lambda connection: connection.cursor().executemany(_PUT, rows))

    @contextmanager
    def lock_call(self, key: str) -> Iterator[None]:
        """Keep processes on other machines from making a call during the block.

        It waits while one of them makes the call, and raises Cancelled if the wait is cancelled. A
        copy of the block in a forked child does not have the lock.
        """
        number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big", signed=True)
        session = self._wait_for(number)
        try:
            yield
        finally:
            with self._session_lock, suppress(psycopg.Error):
                is_current = self._session is session  # the locks of a lost session are free
                if is_current:
                    session.execute("SELECT pg_advisory_unlock(%s)", [number])

    def _fetch(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.open()
        return self._server.run(
            lambda connection: connection.execute(sql, values, binary=True).fetchall()
        )

    def _wait_for(self, number: int) -> Connection:
        """Lock a number, and return the session that has it then."""
        pause = 0.02
        while True:
            session = self._server.retry(lambda: self._try_locking(number))
            if session is not None:
                return session
            sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)

    def _try_locking(self, number: int) -> Connection:
        """Lock a number, and return the session; None if another session has it."""
        with self._session_lock:
            if self._session is None or self._session.closed:
                self._session = self._server.connect()
            session: Any = self._session
            ((got,),) = session.execute("SELECT pg_try_advisory_lock(%s)", [number]).fetchall()
            return session if got else None

    def _make_tables(self, connection: Connection) -> None:
        """Create the tables if they are missing. Raises StoreUnusable if they cannot be used."""
        try:
            rows = connection.execute(_LOOK).fetchall()
        except psycopg.errors.UndefinedTable:
            self._create_tables(connection)
            rows = connection.execute(_LOOK).fetchall()
        ((version, may_write, read_only),) = rows or [(0, True, "off")]
        if version != VERSION:
            raise StoreUnusable(
                f"{self.name} cannot be used: its tables are of version {version}, and this "
                f"convrag has version {VERSION}. Use the convrag that made them, or another "
                "database."
            )
        if read_only != "off":
            reason = "the server is read-only"
        elif not may_write:
            reason = "permission denied for the tables convrag_*"
        else:
            return
        advice = "Name a server, and a user, that may read and write these tables."
        raise StoreUnusable(f"{self.name} cannot be used: {reason}. {advice}")

    def _create_tables(self, connection: Connection) -> None:
        """Create the tables, unless another process has done so meanwhile."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            rows = connection.execute("SELECT to_regclass('convrag_store') IS NULL").fetchall()
            if rows == [(True,)]:
                for statement in _CREATE:
                    connection.execute(statement)

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: an entry is damaged; it is computed again, as are others like it", self.name
            )

    def _reset_in_child(self) -> None:
        """Forget the parent's session, which has the parent's locks."""
        if self._session is not None:
            forget_inherited(self._session)
        self._session = None
        self._session_lock = threading.Lock()
