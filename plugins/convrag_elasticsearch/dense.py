"""The dense subquery: the passages whose vectors are nearest to the query's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from convrag import Embedder, Passage, Query
from convrag.sdk.queries import combine_vectors, embed_uncached
from convrag_elasticsearch.subqueries import Subquery, WeightedSearch

VectorIndexType = Literal["hnsw", "int8_hnsw", "flat"]


class DenseSubquery(Subquery):
    """Searches by vectors. Several queries become one: the sum of weight times vector, scaled to unit length.

    Scores are cosines.

    Args:
        embedder: makes the vectors of passages and queries.
        vectors: how they are indexed: a graph ("hnsw"), a graph of quantised vectors ("int8_hnsw"), or none ("flat").
        candidates: nearest neighbours that each shard considers (num_candidates).
    """

    def __init__(self, embedder: Embedder, vectors: VectorIndexType, candidates: int) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.candidates = candidates
        # An embedder that was built by hand has no fingerprint to share an index by: it gets an index of its own.
        self._unique_id = uuid4().hex

    def identity(self) -> Mapping[str, Any]:
        return {"leg": "dense", "embedder": self.embedder.fingerprint or self._unique_id, "vectors": self.vectors}

    def mapping_properties(self) -> dict[str, Any]:
        vector = {
            "type": "dense_vector",
            "dims": int(self.embedder.embed(["dimensions"]).shape[1]),
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": self.vectors},
        }
        return {"vector": vector}

    def build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Embed passages. A passage of which the embedder knows nothing gets no vector, and is not found by one."""
        rows = embed_uncached(self.embedder, [passage.content for passage in passages])
        return [{"vector": row.tolist()} if row.any() else {} for row in rows]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        vector = combine_vectors(self.embedder, queries)
        if vector is None:
            return []
        knn = {"field": "vector", "query_vector": vector.tolist(), "k": size}
        return [WeightedSearch({"knn": knn | {"num_candidates": max(self.candidates, size)}})]

    def convert_score(self, score: float) -> float:
        return 2 * score - 1  # Elasticsearch has no negative scores: it returns (1 + cosine) / 2

    def note(self) -> str:
        return "" if self.vectors == "flat" else f"The vector search is approximate ({self.vectors})."
