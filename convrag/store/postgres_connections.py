"""The connections of a process to a PostgreSQL server; one that drops is taken up again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, finalize

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from convrag.store.cancellation import sleep
from convrag.store.connection import StoreUnusable
from convrag.store.forking import ForkAware
from convrag.store.postgres_address import PostgresAddress

log = logging.getLogger(__name__)

T = TypeVar("T")
Connection = Any
"""psycopg.Connection, whose types are not checked."""

POOL = 4
"""Connections for statements; each is used for milliseconds."""

PATIENCE = 60.0
"""Seconds for which a server that was there before is tried again."""

_SETTINGS = {
    "synchronous_commit": "off",  # as SQLite's WAL: a server that loses power may lose the last half second
    "client_connection_check_interval": "500ms",  # a killed client's statement ends, and with it its session
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "5000",  # a client that was cut off loses its session after some five seconds
}
_SET_UP = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())

_BUSY = ("too many clients", "connection slots", "starting up", "shutting down")
"""What a server says that will take connections later."""

_inherited: list[object] = []
"""Connections of a parent process, which are never closed here: that would end the parent's session."""


class PostgresConnections(ForkAware):
    """Connects, and does again what failed because a connection was lost.

    Args:
        address: of the server.
    """

    def __init__(self, address: PostgresAddress) -> None:
        self.address = address
        self._all: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()
        """Each connection -> how many losses there were before it."""
        self._losses = 0
        self._pool = self._make_pool()
        self._was_reached = False
        self._lost_since: float | None = None
        self._has_told = False
        super().__init__()

    def connect(self) -> Connection:
        """Open a connection, whose statements are transactions of their own. Raises psycopg.Error."""
        connection = psycopg.connect(autocommit=True, **self.address.parameters)
        with self._guard:
            self._all[connection] = self._losses
        try:
            connection.execute(_SET_UP)
        except BaseException:
            connection.close()
            raise
        self._was_reached = True
        return connection

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do some work with a connection of the pool; it is done again where the connection is lost meanwhile.

        Raises:
            StoreUnusable: the server cannot be reached, or refuses.
        """

        def attempt() -> T:
            with self._borrow() as connection:
                return work(connection)

        return self.retry(attempt)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Call a function, and again where it raises because a connection is lost, for `PATIENCE` seconds in all.

        A server that has never answered is not tried again. Raises StoreUnusable.
        """
        for number in range(10**9):
            try:
                result = attempt()
            except (psycopg.Error, SQLAlchemyError, OSError) as error:
                self._await_next(number, error)
            else:
                self._note_reached()
                return result
        raise AssertionError

    def explain(self, error: Exception) -> StoreUnusable:
        """Make the error that says what to do."""
        return StoreUnusable(self.address.describe(error))

    def _await_next(self, number: int, error: Exception) -> None:
        """Wait before the next attempt; raise StoreUnusable where there is none."""
        if getattr(error, "sqlstate", None) in ("40P01", "40001"):  # two statements waited for each other
            return
        answers = bool(getattr(error, "sqlstate", None)) or any(sign in str(error) for sign in _BUSY)
        if not _is_lost(error) or not (self._was_reached or answers):
            raise self.explain(error) from error
        with self._guard:
            now = time.monotonic()
            since = self._lost_since = self._lost_since or now
        if number and now > since + PATIENCE:
            raise self.explain(error) from error
        if number:  # the first time, a new connection will do
            self._tell(error)
            sleep(min(0.05 * 2**number, 1.0))

    def _tell(self, error: Exception) -> None:
        with self._guard:
            told, self._has_told = self._has_told, True
        if not told:
            log.warning("%s It is tried again for %d s", self.address.describe(error), PATIENCE)

    def _note_reached(self) -> None:
        if self._lost_since is not None:
            with self._guard:
                self._lost_since, self._has_told = None, False

    @contextmanager
    def _borrow(self) -> Iterator[Connection]:
        borrowed = self._pool.connect()
        while self._all[borrowed.driver_connection] < self._losses:  # it is lost, too: the server was started again
            borrowed.invalidate()
            borrowed.close()
            borrowed = self._pool.connect()
        connection: Any = borrowed.driver_connection
        try:
            yield connection
        finally:
            if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
                with self._guard:
                    self._losses = max(self._losses, self._all[connection] + 1)
                borrowed.invalidate()
            borrowed.close()

    def _make_pool(self) -> QueuePool:
        pool = QueuePool(
            self._connect_weakly(),
            pool_size=POOL,
            max_overflow=0,
            timeout=PATIENCE,
            use_lifo=True,
            reset_on_return=None,
        )
        self._close_pool = finalize(self, pool.dispose)
        return pool

    def _connect_weakly(self) -> Callable[[], Any]:
        """`connect` for the pool, which must not keep this object alive."""
        import weakref

        this = weakref.ref(self)

        def connect() -> Connection:
            connections = this()
            assert connections is not None  # it is what asks the pool
            return connections.connect()

        return connect

    def _reset_in_child(self) -> None:
        """Forget the parent's connections."""
        self._close_pool.detach()
        _inherited.append(self._pool)
        for connection in list(self._all):
            forget_inherited(connection)
        self._all = WeakKeyDictionary()
        self._pool = self._make_pool()


def forget_inherited(connection: Connection) -> None:
    """Forget a connection of the parent process: it ends with the parent, and nothing here can end it before."""
    if connection not in _inherited and not connection.closed:
        _inherited.append(connection)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)


def _is_lost(error: Exception) -> bool:
    """Whether an error says that the connection was lost, or could not be made."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | OSError):
        return False
    state = getattr(error, "sqlstate", None)
    return not state or state.startswith(("57P", "08")) or state == "53300"
