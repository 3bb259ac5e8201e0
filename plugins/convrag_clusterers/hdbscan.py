"""`clusterer=hdbscan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import ConfigError
from convrag_clusterers.base_clusterers import EmbeddingClusterer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class HdbscanClusterer(EmbeddingClusterer):
    """Cluster embeddings with HDBSCAN: dense regions of any density, with no distance to set.

    Two different texts are two outliers: there is nothing beside which they would be dense.

    Args:
        min_cluster_size: the fewest texts of a cluster (2: GINGER's).
        min_samples: neighbours that make a region dense, itself included; more makes more outliers (1: GINGER's).

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, min_cluster_size: int = 2, min_samples: int = 1) -> None:
        if min_cluster_size < 2 or min_samples < 1:
            least = f"clusterer.min_cluster_size={min_cluster_size}: at least 2"
            raise ConfigError(f"{least}; clusterer.min_samples={min_samples}: at least 1")
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        import numpy as np
        from sklearn.cluster import HDBSCAN

        if len(rows) < max(self.min_cluster_size, self.min_samples):
            return np.full(len(rows), -1, dtype=np.int64)
        model = HDBSCAN(min_cluster_size=self.min_cluster_size, min_samples=self.min_samples, copy=True)
        labels: NDArray[np.int64] = model.fit_predict(rows.astype(np.float64))
        return labels
