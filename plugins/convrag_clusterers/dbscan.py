"""`clusterer=dbscan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import ConfigError
from convrag_clusterers.base_clusterers import EmbeddingClusterer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DbscanClusterer(EmbeddingClusterer):
    """Cluster embeddings with DBSCAN: texts within reach of each other, however many clusters that makes.

    Args:
        eps: the largest cosine distance (1 minus the cosine) of neighbours, 0 to 2; larger makes fewer, wider clusters.
            How far is far depends on the embedder; .5 asks of two texts to be more alike than not.
        min_samples: texts within reach, itself included, that make a text the core of a cluster; 2: two texts that say
            the same are a topic.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, eps: float = 0.5, min_samples: int = 2) -> None:
        if not 0 < eps <= 2 or min_samples < 1:
            raise ConfigError(f"clusterer.eps={eps}: above 0, up to 2; clusterer.min_samples={min_samples}: at least 1")
        self.eps = eps
        self.min_samples = min_samples

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        from sklearn.cluster import DBSCAN

        model = DBSCAN(eps=self.eps, min_samples=self.min_samples, metric="cosine")
        labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels
