"""The store's database: one table of entries in SQLite, each with a checksum."""

from __future__ import annotations

import sqlite3
import time
import zlib
from pathlib import Path

TIMEOUT = 60
"""Seconds to wait for other processes that use the database."""

COLUMNS = ("key", "kind", "value", "seconds", "checksum")
_TABLE = (
    "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL, "
    "seconds REAL NOT NULL DEFAULT 0, checksum INTEGER)"
)
_LATER_COLUMNS = ("seconds REAL NOT NULL DEFAULT 0", "checksum INTEGER")  # a store of an early version lacks them


def open_database(file: Path) -> sqlite3.Connection:
    """Open the database, and create its table unless it exists. Raises sqlite3.Error."""
    connection = sqlite3.connect(file, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
    try:
        switch_to_wal(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA cell_size_check=ON")  # damage is seen earlier
        connection.execute(_TABLE)
        for column in _LATER_COLUMNS:
            _add_column(connection, column)
        connection.execute(f"SELECT {', '.join(COLUMNS)} FROM entries LIMIT 0")
        connection.create_function("is_damaged", 5, is_damaged, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return connection


def _add_column(connection: sqlite3.Connection, column: str) -> None:
    try:
        connection.execute(f"ALTER TABLE entries ADD COLUMN {column}")
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):
            raise


def compute_checksum(key: str, kind: str, value: bytes, seconds: float) -> int:
    """Compute the checksum of an entry, key included: a value that is found under the wrong key is damage too."""
    return zlib.crc32(value, zlib.crc32(f"{key} {kind} {seconds!r}".encode()))


def is_damaged(key: object, kind: object, value: object, seconds: object, checksum: object) -> bool:
    """Whether the fields of an entry do not fit its checksum. Entries of early versions have none."""
    if not isinstance(key, str) or not isinstance(kind, str) or not isinstance(value, bytes):
        return True
    if not isinstance(seconds, float):
        return True
    return checksum is not None and compute_checksum(key, kind, value, seconds) != checksum


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode. SQLite does not wait here for another connection that does so too: try again meanwhile."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
