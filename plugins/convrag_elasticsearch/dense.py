"""Search by meaning: the passages whose vectors are closest to the query's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from convrag import Embedder, Passage, Query
from convrag_elasticsearch.legs import Leg, Search

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors = Literal["hnsw", "int8_hnsw", "flat"]


class Dense(Leg):
    """Several queries become one: the sum of weight times vector, brought back to unit length. Scores are cosines.

    Args:
        embedder: makes the vectors of passages and queries.
        vectors: how they are kept: a graph ("hnsw"), one of rounded vectors ("int8_hnsw"), or no graph at all.
        candidates: neighbours that a shard looks at.
    """

    def __init__(self, embedder: Embedder, vectors: Vectors, candidates: int) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.candidates = candidates
        # Of an embedder that was built by hand nobody knows what another one computed: it gets an index of its own.
        self._unknown = uuid4().hex

    def identity(self) -> Mapping[str, Any]:
        return {"leg": "dense", "embedder": self.embedder.fingerprint or self._unknown, "vectors": self.vectors}

    def properties(self) -> dict[str, Any]:
        vector = {
            "type": "dense_vector",
            "dims": int(self.embedder.embed(["dimensions"]).shape[1]),
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": self.vectors},
        }
        return {"vector": vector}

    def fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """A passage that the embedder knows no word of gets no vector, and is not found by it."""
        rows = _unremembered(self.embedder)([passage.content for passage in passages])
        return [{"vector": row.tolist()} if row.any() else {} for row in rows]

    def searches(self, queries: Sequence[Query], size: int) -> list[Search]:
        vector = self._vector(queries)
        if vector is None:
            return []
        knn = {"field": "vector", "query_vector": vector.tolist(), "k": size}
        return [Search({"knn": knn | {"num_candidates": max(self.candidates, size)}})]

    def score(self, score: float) -> float:
        return 2 * score - 1  # the cluster knows no negative scores, and gives (1 + cosine) / 2

    def note(self) -> str:
        return "" if self.vectors == "flat" else f"The vector search is approximate ({self.vectors})."

    def _vector(self, queries: Sequence[Query]) -> NDArray[np.float64] | None:
        """The queries as one unit vector; None where they come to nothing."""
        import numpy as np

        if not queries:
            return None
        rows = self.embedder.embed([query.text for query in queries], query=True).astype(np.float64)
        weights = np.array([[query.weight] for query in queries])
        total: NDArray[np.float64] = (rows * weights).sum(axis=0)
        length = float(np.linalg.norm(total))
        cancelled = length < 1e-6 * float(weights.sum())  # what is left is the rounding of float32
        return None if cancelled else total / length


def _unremembered(embedder: Embedder) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The class's own method: the remembering one of the object would keep each vector of the corpus a second time."""
    return lambda texts: type(embedder).embed(embedder, texts)
