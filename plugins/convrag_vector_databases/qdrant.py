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
from convrag.sdk.secrets import redact, redact_address
from convrag_vector_databases.retriever import (
    VectorDatabase,
    VectorDatabaseRetriever,
    describe_passage,
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
        """The parameters of a graph, of none where `m` is 0."""
        return (
            {"m": self.m, "ef_construct": self.ef_construction}
            if self.vectors == "hnsw"
            else {"m": 0}
        )

    def endpoints(self) -> Sequence[str]:
        return [redact_address(url)] if (url := os.environ.get("QDRANT_URL")) else []

    def open_database(self) -> VectorDatabase:
        search = (
            {"exact": False, "hnsw_ef": self.ef_search}
            if self.vectors == "hnsw"
            else {"exact": True}
        )
        return Qdrant(self.store.path / "qdrant", self.index_settings, search, self.timeout)


_embedded: WeakValueDictionary[Path, Any] = WeakValueDictionary()
"""The clients of folders in this process: a folder takes one."""
_lock = threading.RLock()
"""Of the embedded clients, which are not made for threads."""


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
        from qdrant_client import QdrantClient

        url = os.environ.get("QDRANT_URL")
        self._graph, self._search = (
            graph,
            search if url else {},
        )  # a folder is searched exactly, and says so otherwise
        self._name = f"QDRANT_URL={redact_address(url)}" if url else str(folder)
        self._advice = (
            "See that it runs, and that QDRANT_API_KEY is its key"
            if url
            else "See what the folder holds"
        )
        with self._explain():
            if url:
                key = os.environ.get("QDRANT_API_KEY")
                self._client = QdrantClient(
                    url=url, api_key=key, timeout=timeout, check_compatibility=False
                )
            elif (known := _embedded.get(folder)) is not None:
                self._client = known
            else:
                self._client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
                _embedded[folder] = self._client

    def find(self, alias: str) -> str:
        with self._explain():
            found = self._client.get_aliases().aliases
        return next((each.collection_name for each in found if each.alias_name == alias), "")

    def create(self, table: str, width: int) -> None:
        from qdrant_client import models

        with self._explain():
            if not self._client.collection_exists(table):
                config = models.VectorParams(
                    size=width, distance=models.Distance.DOT
                )  # rows have unit length
                graph = models.HnswConfigDiff(**self._graph)
                self._client.create_collection(table, vectors_config=config, hnsw_config=graph)

    def fetch(self, table: str, ids: Sequence[str]) -> list[Passage]:
        with self._explain():
            points = self._client.retrieve(
                table, [_make_id(name) for name in ids], with_payload=True
            )
        return [Passage(**point.payload) for point in points]

    def add(self, table: str, passages: Sequence[Passage], rows: NDArray[np.float32]) -> None:
        from qdrant_client import models

        points = [
            models.PointStruct(
                id=_make_id(passage.id), vector=row.tolist(), payload=describe_passage(passage)
            )
            for passage, row in zip(passages, rows, strict=True)
        ]
        with self._explain():
            self._client.upsert(table, points, wait=True)

    def count(self, table: str) -> int:
        with self._explain():
            return int(self._client.count(table, exact=True).count)

    def publish(self, alias: str, table: str) -> None:
        from qdrant_client import models

        to_table = models.CreateAlias(collection_name=table, alias_name=alias)
        changes: list[Any] = [models.CreateAliasOperation(create_alias=to_table)]
        if self.find(alias):
            changes.insert(
                0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            )
        with self._explain():
            self._client.update_collection_aliases(changes)
            for other in self._client.get_collections().collections:
                if other.name.startswith(f"{alias}_") and other.name != table:
                    self._client.delete_collection(other.name)

    def search(self, alias: str, vector: NDArray[np.float32], k: int) -> list[Hit]:
        from qdrant_client import models

        parameters = models.SearchParams(**self._search)
        with self._explain():
            found = self._client.query_points(
                alias, query=vector.tolist(), limit=k, search_params=parameters
            ).points
        return [Hit(Passage(**point.payload), float(point.score)) for point in found]

    @contextmanager
    def _explain(self) -> Iterator[None]:
        """Say of an error of the client what to do."""
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException

        try:
            with _lock:
                yield
        except (QdrantException, ApiException, ValueError, RuntimeError, OSError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            advice = self._advice
            if "already accessed" in said:
                said, advice = (
                    "another process has it open",
                    "Wait for it, or start a server and set QDRANT_URL",
                )
            said = redact(said.rstrip("."), os.environ.get("QDRANT_API_KEY", ""))
            raise ConfigError(
                f"retriever=qdrant: {self._name} cannot be used: {said}. {advice}."
            ) from error


def _make_id(passage_id: str) -> str:
    """Make the id of a point, which must be a UUID."""
    return str(UUID(digest(passage_id)[:32]))
