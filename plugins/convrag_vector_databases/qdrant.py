"""`retriever=qdrant`: vectors and passages in Qdrant, in a folder of the store or on a server."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from uuid import UUID
from weakref import WeakValueDictionary

from annotated_types import Ge

from convrag import ConfigError, Hit, Passage, operational
from convrag.sdk.identity import digest
from convrag.sdk.search.filters import AllOf, AnyOf, Condition, Span, Terms, Without
from convrag.sdk.secrets import redact, redact_address
from convrag_vector_databases.retriever import VectorDatabaseRetriever
from convrag_vector_databases.vector_database import (
    VectorDatabase,
    describe_fields,
    describe_passage,
    read_bounds,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class QdrantRetriever(VectorDatabaseRetriever):
    """Search by meaning in Qdrant, with any embedder: in a folder of the store, or on a server.

    A passage counts with its title and text; its score is the cosine. Without a server, the client
    keeps all in `qdrant` below the store, for one process at a time and some ten thousand passages,
    and searches exactly. QDRANT_URL names a server, QDRANT_API_KEY its key. A collection for each
    domain is built at the first search, or by task=index.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of passages and queries.
        store: has the folder, and the locks of a build.
        vectors: how a server searches: "exact" compares all vectors, "hnsw" follows a graph:
            faster, and misses some.
        m: neighbours of a passage in the graph. Default: Qdrant's.
        ef_construction: candidates while the graph is built. Default: Qdrant's.
        ef_search: candidates of a search: more find more and take longer. Default: Qdrant's, that
            of `ef_construction`.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
        prefix: the beginning of each collection's name.
        batch_size: passages that are embedded and sent at once, and lost when the process is
            killed.
        timeout: seconds that a server has for each request.
    """

    libraries = ("numpy", "qdrant-client")
    requires: ClassVar = {"qdrant_client": "convrag[qdrant]"}
    env_vars = ("QDRANT_URL", "QDRANT_API_KEY")

    vectors: Literal["exact", "hnsw"] = "exact"
    m: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Ge(4)] = 100
    ef_search: Annotated[int, Ge(1)] | None = None
    timeout: Annotated[int, operational, Ge(1)] = 60

    @property
    def index_settings(self) -> dict[str, int]:
        """Return the parameters of a graph; with `m` 0, there is none."""
        if self.vectors == "exact":
            return {"m": 0}
        return {"m": self.m, "ef_construct": self.ef_construction}

    def endpoints(self) -> Sequence[str]:
        url = os.environ.get("QDRANT_URL")
        return [redact_address(url)] if url else []

    def open_database(self) -> VectorDatabase:
        search: dict[str, Any] = {"exact": True}
        if self.vectors == "hnsw":
            search = {"exact": False, "hnsw_ef": self.ef_search}
        return Qdrant(self.store.path / "qdrant", self.index_settings, search, self.timeout)


_embedded: WeakValueDictionary[Path, Any] = WeakValueDictionary()
"""The clients of folders in this process: a folder takes one."""

_FIELDS = "fields"
"""The key of a point's payload that filters search."""

_lock = threading.RLock()
"""The lock of the embedded clients, which are not made for threads."""


class Qdrant(VectorDatabase):
    """Collections of a server, or of a folder where QDRANT_URL is not set.

    Args:
        folder: of the embedded client.
        graph: the configuration of HNSW.
        search: the parameters of a search.
        timeout: seconds for each request.

    Raises:
        ConfigError: it cannot be opened.
    """

    def __init__(
        self, folder: Path, graph: dict[str, Any], search: dict[str, Any], timeout: int
    ) -> None:
        self._graph = graph
        self._search: dict[str, Any] = {}  # a folder is searched exactly, whatever is asked for
        self._place = str(folder)
        self._advice = "See what the folder holds"
        url = os.environ.get("QDRANT_URL")
        if url:
            self._search = search
            self._place = f"QDRANT_URL={redact_address(url)}"
            self._advice = "See that it runs, and that QDRANT_API_KEY is its key"
        with self._explain():
            self._client = _connect(url, timeout) if url else _open_folder(folder)

    def find(self, alias: str) -> str:
        with self._explain():
            found = self._client.get_aliases().aliases
        return next((each.collection_name for each in found if each.alias_name == alias), "")

    def create(self, table: str, width: int) -> None:
        from qdrant_client import models

        with self._explain():
            if not self._client.collection_exists(table):
                # Rows have unit length, so that their product is the cosine.
                config = models.VectorParams(size=width, distance=models.Distance.DOT)
                graph = models.HnswConfigDiff(**self._graph)
                self._client.create_collection(table, vectors_config=config, hnsw_config=graph)

    def fetch(self, table: str, ids: Sequence[str]) -> list[Passage]:
        point_ids = [_make_id(name) for name in ids]
        with self._explain():
            points = self._client.retrieve(table, point_ids, with_payload=True)
        return [_read_passage(point) for point in points]

    def add(self, table: str, passages: Sequence[Passage], rows: NDArray[np.float32]) -> None:
        from qdrant_client import models

        points = []
        for passage, row in zip(passages, rows, strict=True):
            payload = describe_passage(passage)
            fields = describe_fields(passage)
            if fields:
                payload[_FIELDS] = fields
            points.append(
                models.PointStruct(id=_make_id(passage.id), vector=row.tolist(), payload=payload)
            )
        with self._explain():
            self._client.upsert(table, points, wait=True)

    def count(self, table: str) -> int:
        with self._explain():
            return int(self._client.count(table, exact=True).count)

    def publish(self, alias: str, table: str) -> None:
        from qdrant_client import models

        changes: list[Any] = []
        if self.find(alias):
            delete = models.DeleteAlias(alias_name=alias)
            changes.append(models.DeleteAliasOperation(delete_alias=delete))
        create = models.CreateAlias(collection_name=table, alias_name=alias)
        changes.append(models.CreateAliasOperation(create_alias=create))
        with self._explain():
            self._client.update_collection_aliases(changes)
            for other in self._client.get_collections().collections:
                if other.name.startswith(f"{alias}_") and other.name != table:
                    self._client.delete_collection(other.name)

    def has_fields(self, alias: str) -> bool:
        from qdrant_client import models

        empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=f"{_FIELDS}.terms"))
        with self._explain():
            found, _ = self._client.scroll(
                alias, scroll_filter=models.Filter(must_not=[empty]), limit=1, with_payload=False
            )
        return bool(found)

    def search(
        self, alias: str, vector: NDArray[np.float32], k: int, condition: Condition | None = None
    ) -> list[Hit]:
        from qdrant_client import models

        query_filter = None
        if condition is not None:
            query_filter = models.Filter(must=[build_filter(condition)])
        parameters = models.SearchParams(**self._search)
        with self._explain():
            found = self._client.query_points(
                alias,
                query=vector.tolist(),
                query_filter=query_filter,
                limit=k,
                search_params=parameters,
            ).points
        return [Hit(_read_passage(point), float(point.score)) for point in found]

    @contextmanager
    def _explain(self) -> Iterator[None]:
        """Raise a ConfigError that says what to do in place of an error of the client."""
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException

        try:
            with _lock:
                yield
        except (QdrantException, ApiException, ValueError, RuntimeError, OSError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            advice = self._advice
            if "already accessed" in reason:
                reason = "another process has it open"
                advice = "Wait for it, or start a server and set QDRANT_URL"
            reason = redact(reason.rstrip("."), os.environ.get("QDRANT_API_KEY", ""))
            raise ConfigError(
                f"retriever=qdrant: {self._place} cannot be used: {reason}. {advice}."
            ) from error


def build_filter(condition: Condition) -> Any:
    """Build the filter of Qdrant that points match whose passages a condition matches."""
    from qdrant_client import models

    match condition:
        case Terms(name, keys):
            terms = [f"{name}={key}" for key in keys]
            match_any = models.MatchAny(any=terms)
            return models.FieldCondition(key=f"{_FIELDS}.terms", match=match_any)
        case Span(name):
            place, low, high = read_bounds(condition)
            bounds = {
                "gte" if condition.includes_low else "gt": low,
                "lte" if condition.includes_high else "lt": high,
            }
            key = f'{_FIELDS}.{place}."{name}"'
            return models.FieldCondition(key=key, range=models.Range(**bounds))
        case AllOf(parts):
            return models.Filter(must=[build_filter(part) for part in parts])
        case AnyOf(parts):
            return models.Filter(should=[build_filter(part) for part in parts])
        case Without(part):
            return models.Filter(must_not=[build_filter(part)])


def _read_passage(point: Any) -> Passage:
    """Read the passage of a point."""
    payload = {name: value for name, value in point.payload.items() if name != _FIELDS}
    return Passage(**payload)


def _connect(url: str, timeout: int) -> Any:
    """Make a client of a server."""
    from qdrant_client import QdrantClient

    key = os.environ.get("QDRANT_API_KEY")
    return QdrantClient(url=url, api_key=key, timeout=timeout, check_compatibility=False)


def _open_folder(folder: Path) -> Any:
    """Return this process's client of a folder; make it at the first call."""
    from qdrant_client import QdrantClient

    client = _embedded.get(folder)
    if client is None:
        client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
        _embedded[folder] = client
    return client


def _make_id(passage_id: str) -> str:
    """Make the id of a point, which must be a UUID."""
    return str(UUID(digest(passage_id)[:32]))
