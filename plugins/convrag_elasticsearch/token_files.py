"""Tokens with weights that were computed outside (by SPLADE, say), as JSONL files."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from convrag import ConvragError, DataError, Passage, Query, Store
from convrag.sdk.lazy import Lazy
from convrag.sdk.progress import track
from convrag.store.fingerprint import digest, file_hash
from convrag.store.store import BATCH

_EXAMPLE = '{"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}'


class TokenFile:
    """A file with a line for each passage or query: {"id": "p1", "vector": {"moon": 1.5}} (or "_id", or "text").

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Raise DataError where there is no file, or its first line is none of ours."""
        if not self.path.is_file():
            raise DataError("there is no such file", path=self.path)
        next(self.rows(), None)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the file."""
        return file_hash(self.path)

    def rows(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Stream (line, byte where it begins, object). Raises DataError."""
        with self.path.open("rb") as file:
            start = 0
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, start, self.read(line, number)
                start += len(line)

    def read(self, line: bytes, number: int) -> Mapping[str, Any]:
        """The object of a line. Raises DataError."""
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"this is no JSON ({error}); a line is {_EXAMPLE}", path=self.path, line=number) from error
        if not isinstance(row, dict) or not isinstance(row.get("vector"), dict):
            raise DataError(f"there is no 'vector' with tokens; a line is {_EXAMPLE}", path=self.path, line=number)
        return row

    def tokens(self, row: Mapping[str, Any], number: int) -> dict[str, float]:
        """The vector of a line as the cluster takes it: positive weights only, and no dots in tokens (ELSER's own are
        written so as well). Raises DataError for what is no number.
        """
        found = {}
        for token, weight in row["vector"].items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise DataError(f"the weight of {token!r} is no number: {weight!r}", path=self.path, line=number)
            if weight > 0 and token:
                found[token.replace(".", "__")] = float(weight)
        return found


class QueryTokens(TokenFile):
    """Tokens of queries, all in memory: by "text", or by the turn's "id" where a rewrite is one query."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._known = Lazy(self._read)

    def of(self, query: Query, *, alone: bool) -> dict[str, float]:
        """The tokens of a query. Raises ConvragError where the file has none.

        Args:
            query: of a turn.
            alone: whether it is the turn's only one.
        """
        known = self._known()
        by_id = known.get(("id", query.turn_id)) if alone else None
        tokens = known.get(("text", query.text), by_id)
        if tokens is None:
            raise ConvragError(
                f"{self.path} has no vector for the query {query.text!r} of turn {query.turn_id!r}: add a line with "
                'this "text", or with the turn\'s "id" and no text where the rewrite is a single query'
            )
        return tokens

    def _read(self) -> dict[tuple[str, str], dict[str, float]]:
        return {self._key(row, number): self.tokens(row, number) for number, _, row in self.rows()}

    def _key(self, row: Mapping[str, Any], number: int) -> tuple[str, str]:
        """A line that has a text is meant for this text alone."""
        for kind, name in (("text", "text"), ("id", "id"), ("id", "_id")):
            if name in row:
                return kind, str(row[name])
        raise DataError("there is no 'text' and no 'id'", path=self.path, line=number)


class PassageTokens(TokenFile):
    """Tokens of passages, read where they lie: only a table of where each line begins is kept, in the store.

    Args:
        path: the file.
        store: keeps the table.
    """

    def __init__(self, path: Path, store: Store) -> None:
        super().__init__(path)
        self.store = store
        self._lock = threading.Lock()
        self._table: sqlite3.Connection | None = None

    def of(self, passages: Sequence[Passage]) -> list[dict[str, float]]:
        """The tokens of passages, in this order. Raises DataError where the file lacks one."""
        found = self._places([passage.id for passage in passages])
        with self.path.open("rb") as file:
            return [self._line(file, found, passage.id) for passage in passages]

    def _line(self, file: Any, found: Mapping[str, tuple[int, int]], passage_id: str) -> dict[str, float]:
        if passage_id not in found:
            raise DataError(f"there is no vector for the passage {passage_id!r}", path=self.path)
        number, start = found[passage_id]
        file.seek(start)
        return self.tokens(self.read(file.readline(), number), number)

    def _places(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Id -> line and byte."""
        found = {}
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            with self._lock:
                rows = self._opened().execute(f"SELECT id, line, byte FROM lines WHERE id IN ({marks})", batch)
                found.update({id_: (line, byte) for id_, line, byte in rows})
        return found

    def _opened(self) -> sqlite3.Connection:
        if self._table is None:
            folder = self.store.folder("indexes", digest(["token lines", self.fingerprint]), self._write)
            path = folder / "lines.sqlite"
            self._table = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
        return self._table

    def _write(self, folder: Path) -> None:
        connection = sqlite3.connect(folder / "lines.sqlite")
        try:
            connection.execute("CREATE TABLE lines (id TEXT PRIMARY KEY, line INTEGER, byte INTEGER)")
            rows = ((self._id(row, number), number, start) for number, start, row in self.rows())
            connection.executemany("INSERT INTO lines VALUES (?, ?, ?)", track(rows, f"Reading {self.path.name}"))
            connection.commit()
        except sqlite3.IntegrityError as error:
            raise DataError("an id stands in it twice", path=self.path) from error
        finally:
            connection.close()

    def _id(self, row: Mapping[str, Any], number: int) -> str:
        for name in ("id", "_id"):
            if name in row:
                return str(row[name])
        raise DataError("there is no 'id' of a passage", path=self.path, line=number)
