"""The dense subquery: the passages whose vectors are nearest to the query's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from convrag import Embedder, Passage, Query
from convrag_elasticsearch.subqueries import Subquery, WeightedSearch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        rows = _embed_uncached(self.embedder, [passage.content for passage in passages])
        return [{"vector": row.tolist()} if row.any() else {} for row in rows]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        vector = self._combine(queries)
        if vector is None:
            return []
        knn = {"field": "vector", "query_vector": vector.tolist(), "k": size}
        return [WeightedSearch({"knn": knn | {"num_candidates": max(self.candidates, size)}})]

    def convert_score(self, score: float) -> float:
        return 2 * score - 1  # Elasticsearch has no negative scores: it returns (1 + cosine) / 2

    def note(self) -> str:
        return "" if self.vectors == "flat" else f"The vector search is approximate ({self.vectors})."

    def _combine(self, queries: Sequence[Query]) -> NDArray[np.float64] | None:
        """Combine weighted queries into one unit vector, (d,); None where there is nothing to search for."""
        import numpy as np

        if not queries:
            return None
        rows = self.embedder.embed([query.text for query in queries], query=True).astype(np.float64)
        weights = np.array([[query.weight] for query in queries])
        total: NDArray[np.float64] = (rows * weights).sum(axis=0)
        length = float(np.linalg.norm(total))
        cancelled = length < 1e-6 * float(weights.sum())  # the rest is rounding of float32
        return None if cancelled else total / length


def _embed_uncached(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed by the method of the class; that of the object keeps each vector in the store, a second time."""
    return type(embedder).embed(embedder, texts)
