"""A database with tables of vectors and passages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convrag import Hit, Passage
from convrag.sdk.search.filters import Condition, Span, list_terms

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
    def search(
        self, alias: str, vector: NDArray[np.float32], k: int, condition: Condition | None = None
    ) -> list[Hit]:
        """Search for the k passages whose vectors have the largest products with this one.

        Args:
            alias: of the table.
            vector: (d,) the vector.
            k: at least 1.
            condition: which passages are searched; None for all.
        """

    @abstractmethod
    def has_fields(self, alias: str) -> bool:
        """Whether a passage of a table has fields that filters can search."""


def describe_passage(passage: Passage) -> dict[str, Any]:
    """Return the fields of a passage as plain data; `Passage(**fields)` makes it again."""
    fields = {"id": passage.id, "text": passage.text, "title": passage.title, "url": passage.url}
    return fields | {"metadata": dict(passage.metadata)}


def describe_fields(passage: Passage) -> dict[str, Any]:
    """Return the fields of a passage as a database searches them; empty where there are none.

    `terms` has each value as "product=kettle"; `numbers` has the numbers of each field; `days` has
    its dates as numbers of days (see `count_days`).
    """
    terms: list[str] = []
    numbers: dict[str, list[float]] = {}
    days: dict[str, list[float]] = {}
    for name, scalar in list_terms(passage):
        terms.append(f"{name}={scalar.key}")
        if scalar.number is not None:
            numbers.setdefault(name, []).append(scalar.number)
        elif scalar.kind == "date":
            days.setdefault(name, []).append(count_days(scalar.key))
    return {"terms": terms, "numbers": numbers, "days": days} if terms else {}


def read_bounds(span: Span) -> tuple[str, float | None, float | None]:
    """Return where a span's values are, "numbers" or "days", and its bounds as numbers."""
    if span.kind == "number":
        low = None if span.low is None else float(span.low)
        high = None if span.high is None else float(span.high)
        return "numbers", low, high
    first = None if span.low is None else count_days(str(span.low))
    last = None if span.high is None else count_days(str(span.high))
    return "days", first, last


def count_days(day: str) -> float:
    """Count the days up to a date in months of 31 days, as bounds of months have them.

    Example:
        >>> count_days("2023-03-01") > count_days("2023-02-31") > count_days("2023-02-28")
        True
    """
    year, month, number = (int(part) for part in day.split("-"))
    return float((year * 12 + month) * 31 + number)
