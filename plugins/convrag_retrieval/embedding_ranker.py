"""`ranker=embedding`: texts are scored by the similarity of their vectors to the query's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import Embedder, Ranker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EmbeddingRanker(Ranker):
    """Score each text by its similarity to the query, with any embedder; the score is the cosine.

    Args:
        embedder: makes the vectors.
    """

    libraries = ("numpy",)

    def __init__(self, *, embedder: Embedder) -> None:
        self.embedder = embedder

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) cosines; 0 for a text in which the embedder knows nothing."""
        import numpy as np

        if not texts:
            return np.zeros(0)
        vector = self.embedder.embed([query], query=True)[0].astype(np.float64)
        rows = self.embedder.embed(texts).astype(np.float64)
        scores: NDArray[np.float64] = (rows * vector).sum(axis=1)  # unlike a matrix product, the same for equal rows
        return scores
