"""The sparse subquery: weighted tokens, from ELSER or from JSONL files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from convrag import ConvragError, DataError, Passage, Query
from convrag.sdk.identity import file_hash
from convrag.sdk.lazy import Lazy
from convrag.sdk.progress import track
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.on_elasticsearch import Elasticsearch
from convrag_elasticsearch.subqueries import CONTENT, Subquery, WeightedSearch

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster


QueryType = Literal["sparse_vector", "semantic_text"]


class SparseSubquery(Subquery):
    """Searches by weighted tokens. Several queries are searched for one by one, and their rankings are fused.

    Args:
        engine: what the cluster runs.
        endpoint: makes the tokens on the cluster; None where files have all of them.
        query_type: how queries are sent, which decides what is indexed, too; see ElserRetriever's `query`.
        prune: leave tokens with small weights out of queries, for speed.
        passage_file: the file with the passages' vectors, where the endpoint does not make them.
        query_file: the file with the queries' vectors, where the endpoint does not make them.
    """

    fuses_queries = True

    def __init__(
        self,
        engine: Elasticsearch,
        endpoint: InferenceEndpoint | None,
        *,
        query_type: QueryType = "sparse_vector",
        prune: bool = False,
        passage_file: PassageVectorFile | None = None,
        query_file: QueryVectorFile | None = None,
    ) -> None:
        self.engine = engine
        self.endpoint = endpoint
        self.query_type = query_type
        self.prune = prune
        self.passage_file = passage_file
        self.query_file = query_file
        self._plugins: frozenset[str] = frozenset()

    def identity(self) -> Mapping[str, Any]:
        if self.passage_file is not None:
            return {"leg": "tokens", "file": self.passage_file.fingerprint}
        assert self.endpoint is not None
        return {"leg": self.query_type, "model": self.endpoint.inference_id}

    def mapping_properties(self) -> dict[str, Any]:
        if self.query_type != "semantic_text":
            return {"tokens": dict(self.engine.token_field)}
        assert self.endpoint is not None
        return {
            CONTENT: {"type": "text", "index": False, "copy_to": ["semantic"]},
            "semantic": {"type": "semantic_text", "inference_id": self.endpoint.inference_id},
        }

    def ingest_processors(self) -> list[dict[str, Any]]:
        if self.passage_file is not None or self.query_type == "semantic_text":
            return []
        assert self.endpoint is not None
        tokens = {"input_field": CONTENT, "output_field": "tokens"}
        return [{"inference": {"model_id": self.endpoint.inference_id, "input_output": [tokens]}}]

    def build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        if self.passage_file is None:
            return super().build_fields(passages)
        return [{"tokens": tokens} if tokens else {} for tokens in self.passage_file.read_vectors(passages)]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        bodies = [(self._build_query(query, is_only=len(queries) == 1), query.weight) for query in queries]
        return [WeightedSearch({"query": body}, weight) for body, weight in bodies if body]

    def find_local_problems(self) -> Iterator[str]:
        for file in (self.passage_file, self.query_file):
            try:
                if file is not None:
                    file.check_format()
            except DataError as error:
                yield str(error)

    def find_cluster_problems(self, cluster: Cluster) -> list[str]:
        self._plugins = self.engine.list_plugins(cluster)
        return self.endpoint.find_problems(cluster) if self.endpoint and self.query_file is None else []

    def set_up_cluster(self, cluster: Cluster) -> list[str]:
        return self.endpoint.set_up(cluster) if self.endpoint else []

    def _build_query(self, query: Query, *, is_only: bool) -> dict[str, Any] | None:
        """Build the query of a search; None where the file has no tokens for it."""
        if self.query_type == "semantic_text":
            return {"semantic": {"field": "semantic", "query": query.text}}
        if self.query_file is None:
            assert self.endpoint is not None
            asked = {"inference_id": self.endpoint.inference_id, "query": query.text}
            return {"sparse_vector": {"field": "tokens", "prune": self.prune, **asked}}
        tokens = self.query_file.get_vector(query, is_only=is_only)
        return self.engine.build_token_query(tokens, prune=self.prune, plugins=self._plugins) if tokens else None


_EXAMPLE = '{"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}'


class SparseVectorFile:
    """A file with a line for each passage or query: {"id": "p1", "vector": {"moon": 1.5}} (or "_id", or "text").

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
        """A hash of the file."""
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
            raise DataError(f"this is no JSON ({error}); a line is {_EXAMPLE}", path=self.path, line=number) from error
        if not isinstance(row, dict) or not isinstance(row.get("vector"), dict):
            raise DataError(f"there is no 'vector' with tokens; a line is {_EXAMPLE}", path=self.path, line=number)
        return row

    def parse_vector(self, row: Mapping[str, Any], number: int) -> dict[str, float]:
        """Parse the vector of a line: token -> weight, in the form that Elasticsearch takes.

        It takes positive weights only, and no dots in tokens; they become "__", as in the tokens of ELSER. Raises
        DataError where a weight is no number.
        """
        vector = {}
        for token, weight in row["vector"].items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise DataError(f"the weight of {token!r} is no number: {weight!r}", path=self.path, line=number)
            if weight > 0 and token:
                vector[token.replace(".", "__")] = float(weight)
        return vector


class QueryVectorFile(SparseVectorFile):
    """Vectors of queries, all in memory: by "text", or by the turn's "id" where a rewrite is a single query."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._vectors = Lazy(self._load)

    def get_vector(self, query: Query, *, is_only: bool) -> dict[str, float]:
        """Return the vector of a query. Raises ConvragError where the file has none.

        Args:
            query: of a turn.
            is_only: whether it is the only query of its turn; it may then be found by the turn's id.
        """
        vectors = self._vectors()
        by_id = vectors.get(("id", query.turn_id)) if is_only else None
        vector = vectors.get(("text", query.text), by_id)
        if vector is None:
            raise ConvragError(
                f"{self.path} has no vector for the query {query.text!r} of turn {query.turn_id!r}: add a line with "
                'this "text", or with the turn\'s "id" and no text where the rewrite is a single query'
            )
        return vector

    def _load(self) -> dict[tuple[str, str], dict[str, float]]:
        return {self._parse_key(row, number): self.parse_vector(row, number) for number, _, row in self.stream_rows()}

    def _parse_key(self, row: Mapping[str, Any], number: int) -> tuple[str, str]:
        """Parse what a line is found by. A line with a text is for this text only, whatever id it has."""
        for kind, name in (("text", "text"), ("id", "id"), ("id", "_id")):
            if name in row:
                return kind, str(row[name])
        raise DataError("there is no 'text' and no 'id'", path=self.path, line=number)


class PassageVectorFile(SparseVectorFile):
    """Vectors of passages, read from the file as needed; where each stands in it is in memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._starts = Lazy(self._find_starts)

    def read_vectors(self, passages: Sequence[Passage]) -> list[dict[str, float]]:
        """Read the vectors of passages, in their order. Raises DataError where the file lacks one."""
        starts = self._starts()
        with self.path.open("rb") as file:
            return [self._read_vector(file, starts, passage.id) for passage in passages]

    def _read_vector(self, file: IO[bytes], starts: Mapping[str, tuple[int, int]], name: str) -> dict[str, float]:
        if name not in starts:
            raise DataError(f"there is no vector for the passage {name!r}", path=self.path)
        number, start = starts[name]
        file.seek(start)
        return self.parse_vector(self.parse_row(file.readline(), number), number)

    def _find_starts(self) -> dict[str, tuple[int, int]]:
        """Find passage id -> (line number, byte offset). Raises DataError."""
        starts: dict[str, tuple[int, int]] = {}
        for number, start, row in track(self.stream_rows(), f"Reading {self.path.name}"):
            name = next((str(row[key]) for key in ("id", "_id") if key in row), None)
            if name is None:
                raise DataError("there is no 'id' of a passage", path=self.path, line=number)
            if name in starts:
                raise DataError(f"the id {name!r} stands in it twice", path=self.path, line=number)
            starts[name] = number, start
        return starts
