"""`clusterer=acme_length`: texts of about the same length belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import Clusterer, Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LengthClusterer(Clusterer):
    """Group texts by how many words they have.

    Args:
        step: words to a group.
    """

    libraries = ("numpy",)

    def __init__(self, *, step: int = 10) -> None:
        self.step = step

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """One label for each text, counted from 0 in order of first appearance."""
        import numpy as np

        groups = [len(text.split()) // self.step for text in texts]
        seen = list(dict.fromkeys(groups))
        return np.array([seen.index(group) for group in groups], dtype=np.int64)
