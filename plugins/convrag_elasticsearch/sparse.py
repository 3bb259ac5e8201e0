"""The sparse subquery: weighted tokens, from ELSER or from JSONL files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from convrag import Passage, Query
from convrag.sdk.search.sparse_vectors import PassageVectorFile, QueryVectorFile, find_problems
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.on_elasticsearch import Elasticsearch
from convrag_elasticsearch.subqueries import CONTENT, Subquery, WeightedSearch

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster


QueryType = Literal["sparse_vector", "semantic_text"]


@dataclass(eq=False)
class SparseSubquery(Subquery):
    """Searches by weighted tokens. Several queries are searched for one by one, and their rankings are fused.

    Args:
        engine: what the cluster runs.
        endpoint: makes the tokens on the cluster; None where files have all of them.
        query_type: how queries are sent, which decides what is indexed, too; see ElserRetriever's
            `query`.
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
        bodies = [
            (self._build_query(query, is_only=len(queries) == 1), query.weight) for query in queries
        ]
        return [WeightedSearch({"query": body}, weight) for body, weight in bodies if body]

    def find_local_problems(self) -> Iterator[str]:
        return find_problems(file for file in (self.passage_file, self.query_file) if file)

    def find_cluster_problems(self, cluster: Cluster) -> list[str]:
        self._plugins = self.engine.list_plugins(cluster)
        return (
            self.endpoint.find_problems(cluster)
            if self.endpoint and self.query_file is None
            else []
        )

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
        tokens = _without_dots(self.query_file.get_vector(query, is_only=is_only))
        return (
            self.engine.build_token_query(tokens, prune=self.prune, plugins=self._plugins)
            if tokens
            else None
        )


def _without_dots(vector: Mapping[str, float]) -> dict[str, float]:
    """Tokens as Elasticsearch takes them, and as ELSER has them: "." is "__"."""
    return {token.replace(".", "__"): weight for token, weight in vector.items()}
