"""The fields of a corpus: their names and kinds, and the passages that match a condition.

They are read when the first filter is used, so that a corpus that nobody filters costs nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag.api.passages import Passage
from convrag.sdk.output.progress import count_parts
from convrag.sdk.search.filters import (
    AllOf,
    AnyOf,
    Condition,
    Kind,
    Span,
    Terms,
    Without,
    list_terms,
)
from convrag.store.code_hash import hash_modules
from convrag.store.fingerprint import digest
from convrag.store.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Field", "FieldIndex"]

_FOLDER = "fields"
_FILE = "fields.sqlite"

_TABLES = (
    "CREATE TABLE terms (name TEXT, key TEXT, kind TEXT, number REAL, position INTEGER)",
    "CREATE TABLE size (passages INTEGER)",
)
_INDEXES = (
    "CREATE INDEX by_key ON terms (name, key, position)",
    "CREATE INDEX by_number ON terms (name, number, position) WHERE number IS NOT NULL",
)
_FILTERS = 8
"""Conditions whose passages are kept in memory: 8 bytes for each passage that matches."""

_SHOWN = 20
"""Values of a field that are shown to people."""


class Field(NamedTuple):
    """A field of a corpus.

    Args:
        name: its name.
        kinds: of its values, sorted.
        passages: the passages that have it.
        values: the values that most passages have, the most frequent first.
    """

    name: str
    kinds: tuple[Kind, ...]
    passages: int
    values: tuple[str, ...]


class FieldIndex:
    """The fields of the passages of one domain, in the store; any number of threads may use it.

    Args:
        passages: opens the passages, in the order of their positions. It is called if the store
            does not have their fields.
        fingerprint: of the corpus.
        domain: its name, for messages.
        store: keeps the fields.
        series: of the corpus: the fields of its earlier states are removed. Empty where nobody
            knows it again.
    """

    def __init__(
        self,
        passages: Callable[[], Iterable[Passage]],
        fingerprint: str,
        domain: str,
        store: Store,
        series: str = "",
    ) -> None:
        self._store = store  # it holds the folder for as long as it lives
        key = digest([fingerprint, hash_modules(__name__)])
        folder = store.folder(_FOLDER, key, partial(_build, passages, domain), series=series)
        address = f"{(folder / _FILE).as_uri()}?mode=ro"
        self._connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        self._lock = threading.Lock()
        ((self._size,),) = self._select("SELECT passages FROM size")
        self.kinds: Mapping[str, tuple[Kind, ...]] = self._read_kinds()
        """Name -> the kinds of its values, sorted by name."""
        self.find_positions = lru_cache(_FILTERS)(self._find_positions)

    def list_fields(self) -> list[Field]:
        """List the fields, with the values that most passages have."""
        counted = self._select("SELECT name, count(DISTINCT position) FROM terms GROUP BY name")
        counts = dict(counted)
        fields = []
        for name, kinds in self.kinds.items():
            rows = self._select(
                "SELECT key FROM terms WHERE name = ? GROUP BY key "
                "ORDER BY count(*) DESC, key LIMIT ?",
                (name, _SHOWN),
            )
            values = tuple(key for (key,) in rows)
            fields.append(Field(name, kinds, counts[name], values))
        return fields

    def _find_positions(self, condition: Condition) -> NDArray[np.int64]:
        """Find the positions of the passages that match a condition, rising; the last are cached.

        Nobody may write to the array.
        """
        import numpy as np

        positions = np.flatnonzero(self._mark(condition))
        positions.flags.writeable = False
        return positions

    def _mark(self, condition: Condition) -> NDArray[np.bool_]:
        """Mark the passages that match a condition, by position."""
        import numpy as np

        match condition:
            case Terms(name, keys):
                marks = ",".join("?" * len(keys))
                return self._mark_rows(f"name = ? AND key IN ({marks})", (name, *keys))
            case Span():
                return self._mark_rows(*_write_span(condition))
            case AllOf(parts):
                both: NDArray[np.bool_] = np.logical_and.reduce([*map(self._mark, parts)])
                return both
            case AnyOf(parts):
                either: NDArray[np.bool_] = np.logical_or.reduce([*map(self._mark, parts)])
                return either
            case Without(part):
                return np.logical_not(self._mark(part))

    def _mark_rows(self, where: str, values: Iterable[object]) -> NDArray[np.bool_]:
        import numpy as np

        rows = self._select(f"SELECT position FROM terms WHERE {where}", values)
        marks = np.zeros(self._size, dtype=np.bool_)
        marks[[position for (position,) in rows]] = True
        return marks

    def _read_kinds(self) -> dict[str, tuple[Kind, ...]]:
        rows = self._select("SELECT DISTINCT name, kind FROM terms ORDER BY name, kind")
        kinds: dict[str, list[Kind]] = {}
        for name, kind in rows:
            kinds.setdefault(name, []).append(kind)
        return {name: tuple(each) for name, each in kinds.items()}

    def _select(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, tuple(values)).fetchall()


def _write_span(span: Span) -> tuple[str, list[object]]:
    """Write a span in SQL, with its values."""
    column = "number" if span.kind == "number" else "key"
    where = ["name = ?", "kind = ?"]
    values: list[object] = [span.field, span.kind]
    if span.low is not None:
        where.append(f"{column} {'>=' if span.includes_low else '>'} ?")
        values.append(span.low)
    if span.high is not None:
        where.append(f"{column} {'<=' if span.includes_high else '<'} ?")
        values.append(span.high)
    return " AND ".join(where), values


def _build(passages: Callable[[], Iterable[Passage]], domain: str, folder: Path) -> None:
    """Write the fields of passages into an empty folder."""
    with closing(sqlite3.connect(folder / _FILE)) as connection:
        for table in _TABLES:
            connection.execute(table)
        counter = _Counter()
        with count_parts(f"Reading fields of {domain}", total=None) as advance:
            rows = counter.list_rows(passages(), advance)
            connection.executemany("INSERT INTO terms VALUES (?, ?, ?, ?, ?)", rows)
        for index in _INDEXES:
            connection.execute(index)
        connection.execute("INSERT INTO size VALUES (?)", [counter.passages])
        connection.commit()


class _Counter:
    """Counts the passages whose rows are listed."""

    def __init__(self) -> None:
        self.passages = 0

    def list_rows(
        self, passages: Iterable[Passage], advance: Callable[[float], None]
    ) -> Iterator[tuple[str, str, str, float | None, int]]:
        """Yield a row for each value of each field of each passage."""
        for passage in passages:
            for name, scalar in list_terms(passage):
                yield name, scalar.key, scalar.kind, scalar.number, self.passages
            self.passages += 1
            advance(1)
