"""The dense subquery: nearest neighbours of a vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from convrag import Embedder, Passage, Query
from convrag.sdk.search.queries import combine_vectors, embed_uncached
from convrag_elasticsearch.elasticsearch_engine import Elasticsearch, VectorIndexType
from convrag_elasticsearch.subquery import Subquery, WeightedSearch


class DenseSubquery(Subquery):
    """Searches by vectors, with cosines as scores.

    Several queries become one: the sum of weight times vector, scaled to unit length.

    Args:
        engine: what the cluster runs.
        embedder: makes the vectors of passages and queries.
        vectors: how they are indexed: a graph ("hnsw"), a graph of quantised vectors ("int8_hnsw"),
            or none ("flat").
        candidates: nearest neighbours that each shard considers.
    """

    def __init__(
        self, engine: Elasticsearch, embedder: Embedder, vectors: VectorIndexType, candidates: int
    ) -> None:
        self.engine = engine
        self.embedder = embedder
        self.vectors = vectors
        self.candidates = candidates
        # An embedder built by hand has no fingerprint to share an index by: it gets its own index.
        self._unique_id = uuid4().hex

    def identity(self) -> Mapping[str, Any]:
        return {
            "leg": "dense",
            "embedder": self.embedder.fingerprint or self._unique_id,
            "vectors": self.vectors,
        }

    def mapping_properties(self) -> dict[str, Any]:
        dimensions = int(self.embedder.embed(["dimensions"]).shape[1])
        return {"vector": self.engine.build_vector_field(dimensions, self.vectors)}

    def index_settings(self) -> dict[str, Any]:
        return self.engine.build_vector_settings(self.vectors)

    def build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Embed passages.

        A passage without a word that the embedder knows gets no vector, and is not found by one.
        """
        rows = embed_uncached(self.embedder, [passage.content for passage in passages])
        return [{"vector": row.tolist()} if row.any() else {} for row in rows]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        vector = combine_vectors(self.embedder, queries)
        if vector is None:
            return []
        body = self.engine.build_vector_search(vector.tolist(), size, self.candidates, self.vectors)
        return [WeightedSearch(body)]

    def convert_score(self, score: float) -> float:
        return 2 * score - 1  # engines have no negative scores: they return (1 + cosine) / 2

    def note(self) -> str:
        if self.vectors == "flat":
            return ""
        return f"The vector search is approximate ({self.vectors})."
