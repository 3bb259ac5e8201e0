"""`clusterer=similarity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import ConfigError
from convrag_clusterers.base_clusterers import EmbeddingClusterer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SimilarityClusterer(EmbeddingClusterer):
    """Put each text to the cluster that it is most similar to, or begin a new one: greedy, in the order of the texts.

    Args:
        threshold: the least cosine similarity of a text with a cluster's mean; more makes more, tighter clusters. How
            large is large depends on the embedder; .5 asks of a text to be more like the cluster than not.

    Raises:
        ConfigError: threshold is no cosine.
    """

    def __init__(self, *, threshold: float = 0.5) -> None:
        if not -1 <= threshold <= 1:
            raise ConfigError(f"clusterer.threshold={threshold}: a cosine lies between -1 and 1")
        self.threshold = threshold

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        import numpy as np

        sums = np.zeros(rows.shape, dtype=np.float64)
        labels = np.zeros(len(rows), dtype=np.int64)
        count = 0
        for index, row in enumerate(rows):
            lengths = np.linalg.norm(sums[:count], axis=1)
            similarities = np.divide(sums[:count] @ row, lengths, out=np.zeros(count), where=lengths > 0)
            nearest = int(similarities.argmax()) if count else 0
            if not count or similarities[nearest] < self.threshold:
                nearest, count = count, count + 1
            sums[nearest] += row
            labels[index] = nearest
        return labels
