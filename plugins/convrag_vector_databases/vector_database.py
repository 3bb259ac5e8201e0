"""A database with tables of vectors and passages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convrag import Hit, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class VectorDatabase(ABC):
    """A database with tables of vectors, for any threads.

    A table that is complete is searched by an alias. Errors of its library and its server are
    ConfigErrors that say what to do.
    """

    @abstractmethod
    def find(self, alias: str) -> str:
        """Return the name of the table that an alias stands for; empty where there is none."""

    @abstractmethod
    def create(self, table: str, width: int) -> None:
        """Create a table for vectors of a width, unless it is there from an interrupted build."""

    @abstractmethod
    def fetch(self, table: str, ids: Sequence[str]) -> list[Passage]:
        """Fetch the passages with these ids, in any order; unknown ids are left out.

        Args:
            table: its name, or an alias.
            ids: of passages.
        """

    @abstractmethod
    def add(self, table: str, passages: Sequence[Passage], rows: NDArray[np.float32]) -> None:
        """Add passages with their vectors, all of them or none; existing ones stay as they are."""

    @abstractmethod
    def count(self, table: str) -> int:
        """Count the passages of a table."""

    @abstractmethod
    def publish(self, alias: str, table: str) -> None:
        """Let the alias stand for a complete table in a single step.

        All other tables that were made for it are removed then.
        """

    @abstractmethod
    def search(self, alias: str, vector: NDArray[np.float32], k: int) -> list[Hit]:
        """Search for the k passages whose vectors have the largest products with this one."""


def describe_passage(passage: Passage) -> dict[str, Any]:
    """Return the fields of a passage as plain data; `Passage(**fields)` makes it again."""
    fields = {"id": passage.id, "text": passage.text, "title": passage.title, "url": passage.url}
    return fields | {"metadata": dict(passage.metadata)}
