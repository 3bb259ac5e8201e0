"""The sparse subquery: weighted tokens, from ELSER or from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from convrag import DataError, Passage, Query
from convrag_elasticsearch.documents import CONTENT
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.sparse_vector_files import PassageVectorFile, QueryVectorFile
from convrag_elasticsearch.subqueries import Subquery, WeightedSearch

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster

QueryType = Literal["sparse_vector", "semantic_text"]


class SparseSubquery(Subquery):
    """Searches by weighted tokens. Several queries are searched for one by one, and their rankings are fused.

    Args:
        endpoint: makes the tokens on the cluster; None where files have all of them.
        query_type: how queries are sent, which decides what is indexed, too; see ElserRetriever's `query`.
        prune: leave tokens with small weights out of queries, for speed.
        passage_file: the file with the passages' vectors, where the endpoint does not make them.
        query_file: the file with the queries' vectors, where the endpoint does not make them.
    """

    fuses_queries = True

    def __init__(
        self,
        endpoint: InferenceEndpoint | None,
        *,
        query_type: QueryType = "sparse_vector",
        prune: bool = False,
        passage_file: PassageVectorFile | None = None,
        query_file: QueryVectorFile | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.query_type = query_type
        self.prune = prune
        self.passage_file = passage_file
        self.query_file = query_file

    def identity(self) -> Mapping[str, Any]:
        if self.passage_file is not None:
            return {"leg": "tokens", "file": self.passage_file.fingerprint}
        assert self.endpoint is not None
        return {"leg": self.query_type, "model": self.endpoint.inference_id}

    def mapping_properties(self) -> dict[str, Any]:
        if self.query_type != "semantic_text":
            return {"tokens": {"type": "sparse_vector"}}
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
        return self.endpoint.find_problems(cluster) if self.endpoint and self.query_file is None else []

    def set_up_cluster(self, cluster: Cluster) -> list[str]:
        return self.endpoint.set_up(cluster) if self.endpoint else []

    def _build_query(self, query: Query, *, is_only: bool) -> dict[str, Any] | None:
        """Build the query of a search; None where the file has no tokens for it."""
        if self.query_type == "semantic_text":
            return {"semantic": {"field": "semantic", "query": query.text}}
        parameters: dict[str, Any] = {"field": "tokens", "prune": self.prune}
        if self.query_file is None:
            assert self.endpoint is not None
            return {"sparse_vector": parameters | {"inference_id": self.endpoint.inference_id, "query": query.text}}
        tokens = self.query_file.get_vector(query, is_only=is_only)
        return {"sparse_vector": parameters | {"query_vector": tokens}} if tokens else None
