"""What the store asks of the database that keeps its values: SQLite's file, or a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol


class Entries(Protocol):
    """Values (bytes) by key, and locks by key; safe across threads, processes and forks.

    Nothing is opened before the first use. Each method raises StoreUnusable where the database cannot be used.
    """

    @property
    def name(self) -> str:
        """What messages call the database: its file, or its address without user and password."""

    def open(self) -> None:
        """Open the database, and make its table where it is missing."""

    def find(self, keys: Iterable[str]) -> dict[str, tuple[bytes, float]]:
        """Return key -> (value, seconds it took to compute), of the keys that have a sound value.

        Damaged entries are deleted, with a warning.
        """

    def put(self, kind: str, entries: Mapping[str, bytes], seconds: float) -> set[str]:
        """Keep values, each whole or not at all, in place of earlier ones.

        Returns:
            The keys whose values are not kept: this process had locked them, has lost the lock while it computed, and
            another one has taken it since, whose value counts.
        """

    def lock_keys(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys during the block, waiting for each of them; the locks of a process that is killed are free."""

    def get_last_row(self) -> int:
        """Return the row number of the newest entry; 0 where there is none."""

    def count_since(self, row: int) -> dict[str, int]:
        """Count by kind the entries that any process has added after a row."""
