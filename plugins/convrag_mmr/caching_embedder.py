"""An embedder that embeds each text once in a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convrag import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CachingEmbedder(Embedder):
    """Embeds new texts only, and takes the others' vectors from a conversation's memory.

    It has the fingerprint of the embedder, so that what a clusterer computes with either is the same to the store.

    Args:
        embedder: embeds new texts.
        vectors: text -> vector of what was embedded before; new ones are added.
    """

    def __init__(self, embedder: Embedder, vectors: dict[str, Any]) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.fingerprint = embedder.fingerprint

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """The embedder's rows, (n, d) float32; queries are embedded each time."""
        import numpy as np

        if query or not texts:
            return self.embedder.embed(texts, query=query)
        if new := [text for text in dict.fromkeys(texts) if text not in self.vectors]:
            self.vectors.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self.vectors[text] for text in texts])
