"""The sparse subquery: weighted tokens, from ELSER or from JSONL files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from convrag import Passage, Query
from convrag.sdk.search.sparse_vectors import PassageVectorFile, QueryVectorFile, find_problems
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.documents import CONTENT
from convrag_elasticsearch.elasticsearch_engine import Elasticsearch
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.subquery import Subquery, WeightedSearch

QueryType = Literal["sparse_vector", "semantic_text"]
"""How queries are sent: one vector for each passage, or chunks that the cluster makes."""


@dataclass(frozen=True)
class SparseSettings:
    """The parameters of a retriever that concern sparse search; see `ClusterRetriever`."""

    inference_id: str | None
    model: str
    create_endpoint: bool
    endpoint_wait: float
    query_type: QueryType
    prune: bool
    passage_vectors: Path | None
    query_vectors: Path | None

    def find_problem(self, engine: Elasticsearch) -> str:
        """Say why there are no tokens; empty where an endpoint or files have all of them."""
        is_semantic = self.query_type == "semantic_text"
        has_files = bool(self.passage_vectors and self.query_vectors)
        if not engine.has_endpoints and (self.inference_id or is_semantic or self.prune):
            return (
                "inference_id, query=semantic_text and prune are Elasticsearch's: set "
                "retriever.passage_vectors and retriever.query_vectors to files with tokens"
            )
        if is_semantic and (self.passage_vectors or self.query_vectors or not self.inference_id):
            return (
                "query=semantic_text: an endpoint makes all tokens: set only retriever.inference_id"
            )
        if self.inference_id or has_files:
            return ""
        missing = "query_vectors" if self.passage_vectors else "passage_vectors"
        return (
            "tokens come from an endpoint or from files: set retriever.inference_id to an endpoint "
            f"of the cluster, or retriever.{missing} to a file of them (retriever=elser is set up "
            "for it)"
        )

    def make_subquery(self, engine: Elasticsearch) -> SparseSubquery:
        """Make the subquery for an engine with which the settings have no problem."""
        endpoint = None
        if self.inference_id:
            endpoint = InferenceEndpoint(
                self.inference_id, self.model, self.create_endpoint, self.endpoint_wait
            )
        passage_file = PassageVectorFile(self.passage_vectors) if self.passage_vectors else None
        query_file = QueryVectorFile(self.query_vectors) if self.query_vectors else None
        return SparseSubquery(
            engine,
            endpoint,
            query_type=self.query_type,
            prune=self.prune,
            passage_file=passage_file,
            query_file=query_file,
        )


@dataclass(eq=False)
class SparseSubquery(Subquery):
    """Searches by weighted tokens.

    Several queries are searched for one by one, and their rankings are fused.

    Args:
        engine: what the cluster runs.
        endpoint: makes the tokens on the cluster; None where files have all of them.
        query_type: how queries are sent, which decides what is indexed, too; see
            `ClusterRetriever`'s `query`.
        prune: leave tokens with small weights out of queries, for speed.
        passage_file: the file with the passages' vectors, where the endpoint does not make them.
        query_file: the file with the queries' vectors, where the endpoint does not make them.
    """

    fuses_queries = True

    engine: Elasticsearch
    endpoint: InferenceEndpoint | None
    query_type: QueryType = "sparse_vector"
    prune: bool = False
    passage_file: PassageVectorFile | None = None
    query_file: QueryVectorFile | None = None

    def __post_init__(self) -> None:
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
        return [
            {"tokens": _without_dots(tokens)} if tokens else {}
            for tokens in self.passage_file.read_vectors(passages)
        ]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        searches = []
        for query in queries:
            body = self._build_query(query, is_only=len(queries) == 1)
            if body is not None:
                searches.append(WeightedSearch({"query": body}, query.weight))
        return searches

    def find_local_problems(self) -> Iterator[str]:
        return find_problems(file for file in (self.passage_file, self.query_file) if file)

    def find_cluster_problems(self, cluster: Cluster) -> list[str]:
        self._plugins = self.engine.list_plugins(cluster.request)
        if self.endpoint is None or self.query_file is not None:
            return []
        return self.endpoint.find_problems(cluster)

    def set_up_cluster(self, cluster: Cluster) -> list[str]:
        return self.endpoint.set_up(cluster) if self.endpoint else []

    def _build_query(self, query: Query, *, is_only: bool) -> dict[str, Any] | None:
        """Build the query of a search; None where the file has no tokens for it."""
        if self.query_type == "semantic_text":
            return {"semantic": {"field": "semantic", "query": query.text}}
        if self.query_file is None:
            assert self.endpoint is not None
            return {
                "sparse_vector": {
                    "field": "tokens",
                    "prune": self.prune,
                    "inference_id": self.endpoint.inference_id,
                    "query": query.text,
                }
            }
        tokens = _without_dots(self.query_file.get_vector(query, is_only=is_only))
        if not tokens:
            return None
        return self.engine.build_token_query(tokens, prune=self.prune, plugins=self._plugins)


def _without_dots(vector: Mapping[str, float]) -> dict[str, float]:
    """Write tokens as Elasticsearch takes them and ELSER has them: "." is "__"."""
    return {token.replace(".", "__"): weight for token, weight in vector.items()}
