"""The address of a PostgreSQL server, the connections of a process to it, and its errors."""

import itertools
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote_plus

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from convrag import ConfigError, ConvragError
from convrag.sdk.cancellation import sleep
from convrag.sdk.secrets import redact, redact_address
from convrag.sdk.storage import ForkAware

log = logging.getLogger(__name__)

T = TypeVar("T")
Connection = Any
"""A psycopg.Connection, unchecked. Each of its statements is a transaction."""

POOL = 4
"""The number of connections for statements; each is used for milliseconds."""

PATIENCE = 60.0
"""Seconds for which a server that answered before is tried again."""

_CONNECTION_PARAMETERS = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "application_name": "convrag",
}
"""Parameters of libpq, by which a connection to a lost server ends after some five seconds."""

_SETTINGS = {
    # A killed client's statement ends, and with it its session
    "client_connection_check_interval": "500ms",
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
    # A client that was cut off loses its session after some five seconds
    "tcp_user_timeout": "5000",
}
_BUSY = ("too many clients", "connection slots", "starting up", "shutting down")
"""Messages of a server that will accept connections later."""

_ROOM = "Raise the server's max_connections, or run fewer processes: each opens up to six"
_ADVICE = (
    (
        "password",
        "Set PGPASSWORD, or give the address with its password by a variable: "
        "store.url='${oc.env:MY_STORE}'",
    ),
    ("does not exist", "Make it there, or correct the address"),
    (
        "permission denied",
        "Its user must be allowed to create tables there, or to read and write the tables "
        "convrag_*",
    ),
    ("read-only", "Name a server, and a user, that may write"),
    ("too many clients", _ROOM),
    ("connection slots", _ROOM),
    ("No space left", "Make room on the server: the same command goes on from what is kept"),
)
"""A part of PostgreSQL's message, and what to do."""

_UNREACHABLE = "See that the server runs, and can be reached from this machine"

_inherited: list[object] = []
"""The connections of a parent process; closing them here would end the parent's sessions."""


class Address:
    """An address of PostgreSQL as SQLAlchemy has it: "postgresql+psycopg://user@host/database".

    Args:
        url: the address.
        setting: the setting that has it, for messages.

    Raises:
        ConfigError: it cannot be read, or does not name a database.
    """

    def __init__(self, url: str, setting: str) -> None:
        self.place = redact_address(url)
        """The address without user and password."""
        self.name = f"{setting}={self.place}"
        """The name of the database in messages."""
        try:
            parsed: URL = make_url(url).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError):  # its message repeats the address
            raise ConfigError(f"{self.name}: SQLAlchemy cannot read this address") from None
        if not parsed.database:
            raise ConfigError(
                f"{self.name}: name a database of PostgreSQL, "
                f"as in {setting}=postgresql+psycopg://user@host/database"
            )
        self._password = parsed.password
        dialect: Any = parsed.get_dialect()
        self.dialect = dialect(dbapi=psycopg)
        self.parameters: dict[str, Any] = {
            **_CONNECTION_PARAMETERS,
            **self.dialect.create_connect_args(parsed)[1],
        }
        """The parameters of `psycopg.connect`; those in the address come first."""

    def describe(self, error: BaseException) -> str:
        """Describe why the database cannot be used, and what to do; without passwords."""
        message = " ".join(str(error).split()) or type(error).__name__
        before, _, fatal = message.partition("FATAL: ")
        reason = (fatal or before).partition(" Is the server running")[0].strip()
        reason = reason.removeprefix("connection failed: ").rstrip(".?")
        was_reached = bool(fatal or getattr(error, "sqlstate", None))
        sentences = [f"{self.name} cannot be used: {reason}."]
        if advice := _find_advice(reason, was_reached):
            sentences.append(f"{advice}.")
        password = str(self._password or "")
        hidden = [password, quote_plus(password)] if password else []
        return redact(" ".join(sentences), *hidden)


def _find_advice(reason: str, was_reached: bool) -> str:
    """Find what to do; empty if that is not known."""
    for part, advice in _ADVICE:
        if part in reason:
            return advice
    return "" if was_reached else _UNREACHABLE


class Server(ForkAware):
    """Connects to a server, and repeats work that failed because a connection was lost.

    Args:
        address: the address of the server.
        unusable: the error to raise if it cannot be used.
        asks_first: whether each connection is tried before it is used, since the server may have
            been restarted; `run` repeats its work instead.
        **settings: settings of the server for each connection.
    """

    def __init__(
        self,
        address: Address,
        unusable: type[ConvragError] = ConfigError,
        asks_first: bool = False,
        **settings: str,
    ) -> None:
        self.address = address
        self._settings = {**_SETTINGS, **settings}
        self._unusable = unusable
        self._asks_first = asks_first
        self._was_reached = False
        self._has_warned = False
        self._make_pool()
        super().__init__()

    def connect(self) -> Connection:
        """Open a connection. Raises psycopg.Error."""
        connection = _connect(self.address.parameters, self._settings)
        self._was_reached = True
        return connection

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """Give a connection of the pool.

        Raises psycopg.Error, and sqlalchemy.exc.TimeoutError if none is free.
        """
        borrowed = self._pool.connect()
        self._was_reached = True
        connection: Any = borrowed.driver_connection
        try:
            yield connection
        finally:
            if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
                borrowed.invalidate()
            borrowed.close()

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do some work with a connection of the pool, again if the connection is lost meanwhile.

        Raises:
            ConvragError: the server cannot be reached, or refuses; it is an `unusable` error.
        """

        def attempt() -> T:
            with self.borrow() as connection:
                return work(connection)

        return self.retry(attempt)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Call a function, again while a lost connection makes it fail, for `PATIENCE` seconds.

        A server that has never answered is not tried again. Raises as `run` does.
        """
        deadline = time.monotonic() + PATIENCE
        for number in itertools.count():
            try:
                result = attempt()
            except (psycopg.Error, SQLAlchemyError, OSError) as error:
                if time.monotonic() > deadline or not self._may_pass(error):
                    raise self.explain(error) from error
                if number:  # at first, a new connection will do
                    self._warn(error)
                    sleep(min(0.05 * 2**number, 1.0))
            else:
                self._has_warned = False
                return result
        raise AssertionError

    def _may_pass(self, error: Exception) -> bool:
        """Whether the server may answer later."""
        is_busy = any(part in str(error) for part in _BUSY)
        return _is_passing(error) and (self._was_reached or is_busy)

    def close(self) -> None:
        """Close the connections that no thread uses."""
        self._pool.dispose()

    def explain(self, error: Exception) -> ConvragError:
        """Make the error that tells the user what to do."""
        return self._unusable(self.address.describe(error))

    def _warn(self, error: Exception) -> None:
        """Warn, once until it answers again, that the server is tried again."""
        if not self._has_warned:
            self._has_warned = True
            log.warning("%s It is tried again for %d s", self.address.describe(error), PATIENCE)

    def _make_pool(self) -> None:
        self._pool = QueuePool(
            partial(_connect, self.address.parameters, self._settings),
            pool_size=POOL,
            max_overflow=0,
            timeout=PATIENCE,
            use_lifo=True,
            reset_on_return=None,
            pre_ping=self._asks_first,
            dialect=self.address.dialect,
        )
        self._close_pool = weakref.finalize(self, self._pool.dispose)

    def _reset_in_child(self) -> None:
        """Forget the parent's connections."""
        self._close_pool.detach()
        _inherited.append(self._pool)
        self._make_pool()


def forget_inherited(connection: Connection) -> None:
    """Forget a connection of the parent process, whose session must end with the parent only."""
    _inherited.append(connection)
    if not connection.closed:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)


def _is_passing(error: Exception) -> bool:
    """Whether another attempt may succeed: a lost connection, or two transactions in a deadlock."""
    if state := getattr(error, "sqlstate", None):
        return str(state).startswith(("57P", "08", "40")) or state == "53300"
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | OSError)


def _connect(parameters: Mapping[str, Any], settings: Mapping[str, str]) -> Connection:
    connection = psycopg.connect(autocommit=True, **parameters)
    try:
        calls = ", ".join(
            f"set_config('{name}', '{value}', false)" for name, value in settings.items()
        )
        connection.execute(f"SELECT {calls}")
    except BaseException:
        connection.close()
        raise
    return connection
