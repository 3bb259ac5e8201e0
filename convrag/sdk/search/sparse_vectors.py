"""Files of sparse vectors: the weighted tokens that a model gave passages and queries elsewhere."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from convrag.api.errors import ConvragError, DataError
from convrag.api.passages import Passage
from convrag.api.queries import Query
from convrag.sdk.identity import file_hash
from convrag.sdk.lazy import Lazy
from convrag.sdk.output.progress import track

__all__ = ["PassageVectorFile", "QueryVectorFile", "SparseVectorFile", "find_problems"]

_EXAMPLE = '{"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}'


class SparseVectorFile:
    """A file with a line for each passage or query: {"id": "p1", "vector": {"moon": 1.5}}.

    In place of "id", a line may have "_id" or "text".

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_format(self) -> None:
        """Raise DataError where there is no file, or its first line has another format."""
        if not self.path.is_file():
            raise DataError("there is no such file", path=self.path)
        next(self.stream_rows(), None)

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of the file."""
        return file_hash(self.path)

    def stream_rows(self) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        """Yield (line number, byte offset of the line, object). Raises DataError."""
        with self.path.open("rb") as file:
            start = 0
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, start, self.parse_row(line, number)
                start += len(line)

    def parse_row(self, line: bytes, number: int) -> Mapping[str, Any]:
        """Parse a line. Raises DataError."""
        try:
            row = json.loads(line)
        except ValueError as error:
            problem = f"this is not JSON ({error}); a line is {_EXAMPLE}"
            raise DataError(problem, path=self.path, line=number) from error
        if not isinstance(row, dict) or not isinstance(row.get("vector"), dict):
            problem = f"there is no 'vector' with tokens; a line is {_EXAMPLE}"
            raise DataError(problem, path=self.path, line=number)
        return row

    def parse_vector(self, row: Mapping[str, Any], number: int) -> dict[str, float]:
        """Parse the vector of a line: token -> weight, if above 0.

        Raises:
            DataError: a weight is not a number.
        """
        vector = {}
        for token, weight in row["vector"].items():
            if not _is_number(weight):
                problem = f"the weight of {token!r} is not a number: {weight!r}"
                raise DataError(problem, path=self.path, line=number)
            if weight > 0 and token:
                vector[token] = float(weight)
        return vector


class QueryVectorFile(SparseVectorFile):
    """Vectors of queries, all in memory.

    They are found by "text", or by the turn's "id" where a rewrite is a single query.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._vectors = Lazy(self._load)

    def get_vector(self, query: Query, *, is_only: bool) -> dict[str, float]:
        """Return the vector of a query. Raises ConvragError where the file has none.

        Args:
            query: of a turn.
            is_only: whether it is the only query of its turn; it may then be found by the turn's
                id.
        """
        vectors = self._vectors()
        by_id = vectors.get(("id", query.turn_id)) if is_only else None
        vector = vectors.get(("text", query.text), by_id)
        if vector is None:
            raise ConvragError(
                f"{self.path} has no vector for the query {query.text!r} of turn "
                f'{query.turn_id!r}: add a line with this "text", or with the turn\'s "id" and no '
                "text where the rewrite is a single query"
            )
        return vector

    def _load(self) -> dict[tuple[str, str], dict[str, float]]:
        vectors = {}
        for number, _, row in self.stream_rows():
            vectors[self._parse_key(row, number)] = self.parse_vector(row, number)
        return vectors

    def _parse_key(self, row: Mapping[str, Any], number: int) -> tuple[str, str]:
        """Parse the key of a line; one with a text is for this text only, whatever id it has."""
        if "text" in row:
            return "text", str(row["text"])
        for name in ("id", "_id"):
            if name in row:
                return "id", str(row[name])
        raise DataError("there is no 'text' and no 'id'", path=self.path, line=number)


class PassageVectorFile(SparseVectorFile):
    """Vectors of passages, read from the file as needed; their places in it are in memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._starts = Lazy(self._find_starts)

    def read_vectors(self, passages: Sequence[Passage]) -> list[dict[str, float]]:
        """Read the vectors of passages, in their order. Raises DataError where one is missing."""
        starts = self._starts()
        with self.path.open("rb") as file:
            return [self._read_vector(file, starts, passage.id) for passage in passages]

    def _read_vector(
        self, file: IO[bytes], starts: Mapping[str, tuple[int, int]], name: str
    ) -> dict[str, float]:
        if name not in starts:
            raise DataError(f"there is no vector for the passage {name!r}", path=self.path)
        number, start = starts[name]
        file.seek(start)
        return self.parse_vector(self.parse_row(file.readline(), number), number)

    def _find_starts(self) -> dict[str, tuple[int, int]]:
        """Find passage id -> (line number, byte offset). Raises DataError."""
        starts: dict[str, tuple[int, int]] = {}
        for number, start, row in track(self.stream_rows(), f"Reading {self.path.name}"):
            if "id" not in row and "_id" not in row:
                raise DataError("there is no 'id' of a passage", path=self.path, line=number)
            name = str(row["id"] if "id" in row else row["_id"])
            if name in starts:
                raise DataError(f"the id {name!r} stands in it twice", path=self.path, line=number)
            starts[name] = (number, start)
        return starts


def find_problems(files: Iterable[SparseVectorFile]) -> Iterator[str]:
    """Yield what is wrong with files that are missing, or begin with a line in another format."""
    for file in files:
        try:
            file.check_format()
        except DataError as error:
            yield str(error)


def _is_number(value: Any) -> bool:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
