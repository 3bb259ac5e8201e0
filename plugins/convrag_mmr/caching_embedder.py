"""What one conversation has embedded and split already: its part of a rewriter's scratch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convrag import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Remembering(Embedder):
    """An embedder that embeds each text once per conversation.

    To whoever is given it, a clusterer say, it is the embedder itself, down to the fingerprint.

    Args:
        embedder: embeds what is new.
        vectors: what was embedded before; what is new is added.
    """

    def __init__(self, embedder: Embedder, vectors: dict[str, Any]) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.fingerprint = embedder.fingerprint

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Rows as the embedder gives them; queries are not kept."""
        import numpy as np

        if query or not texts:
            return self.embedder.embed(texts, query=query)
        if new := [text for text in dict.fromkeys(texts) if text not in self.vectors]:
            self.vectors.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self.vectors[text] for text in texts])
