"""The address of a PostgreSQL store (`store.url`), and what messages say where its server cannot be used."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from convrag.api.errors import ConfigError, MissingExtra
from convrag.api.secrets import redact, redact_address

_PATIENT = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "application_name": "convrag",
}
"""Parameters of libpq: a connection whose server is out of reach ends after some five seconds, and not after hours."""

_ADVICE = (
    ("password", "Set PGPASSWORD, or give the address with its password by a variable: store.url='${oc.env:MY_STORE}'"),
    ("does not exist", "Make it there, or correct the address"),
    ("permission denied", "Its user must be allowed to create tables there, or to read and write the tables convrag_*"),
    ("read-only", "Name a server, and a user, that may write"),
    ("too many clients", "Raise the server's max_connections, or run fewer processes: each opens up to six"),
    ("connection slots", "Raise the server's max_connections, or run fewer processes: each opens up to six"),
    ("No space left", "Make room on the server: the same command goes on from what is kept"),
)
"""What PostgreSQL says, and what to do."""

_UNREACHABLE = "See that the server runs, and can be reached from this machine"


class PostgresAddress:
    """An address as SQLAlchemy has it: "postgresql+psycopg://user@host/database".

    Raises:
        ConfigError: it is none of PostgreSQL.
        MissingExtra: the driver is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):  # its message repeats the address
            raise ConfigError(f"store.url={redact_address(url)}: SQLAlchemy cannot read this address") from None
        if parsed.get_backend_name() not in ("postgresql", "postgres") or not parsed.database:
            raise ConfigError(
                f"store.url={redact_address(url)}: name a database of PostgreSQL, as in "
                "store.url=postgresql+psycopg://user@host/database"
            )
        self._url: URL = parsed.set(drivername="postgresql+psycopg")
        self.name = f"store.url={redact_address(url)}"
        """What messages call it: without user and password."""
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtra("psycopg", "convrag[postgres]", "store.url") from error
        del psycopg
        given = self._url.get_dialect()().create_connect_args(self._url)[1]
        self.parameters: dict[str, Any] = {**_PATIENT, **given}
        """Of `psycopg.connect`; those in the address count."""

    def describe(self, error: BaseException) -> str:
        """Say that the store cannot be used, why, and what to do; passwords do not appear."""
        reason = " ".join(str(error).split()) or type(error).__name__
        before, _, told = reason.partition("FATAL: ")
        reason = (
            (told or before)
            .partition(" Is the server running")[0]
            .strip()
            .removeprefix("connection failed: ")
            .rstrip(".?")
        )
        advice = next((advice for sign, advice in _ADVICE if sign in reason), "" if told else _UNREACHABLE)
        if getattr(error, "sqlstate", None) and advice == _UNREACHABLE:
            advice = ""  # it was reached
        message = f"{self.name} cannot be used: {reason}.{advice and f' {advice}.'}"
        password = self._url.password
        hidden = [str(password), quote_plus(str(password))] if password else []
        return redact(message, *hidden)
