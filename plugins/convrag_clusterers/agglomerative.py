"""`clusterer=agglomerative`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import ConfigError
from convrag_clusterers.base_clusterers import EmbeddingClusterer, choose_cluster_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class AgglomerativeClusterer(EmbeddingClusterer):
    """Cluster embeddings bottom-up (average cosine linkage), down to a number of clusters or up to a similarity.

    Args:
        k: the number of clusters, never more than there are texts; None takes the root of the number of texts, rounded
            down, between 2 and 7, as clusterer=kmeans does, so that the two can be compared.
        threshold: instead of a number: clusters are joined as long as the mean cosine similarity of their texts is at
            least this; how large is large depends on the embedder.

    Raises:
        ConfigError: both are given, or one is out of range.
    """

    def __init__(self, *, k: int | None = None, threshold: float | None = None) -> None:
        if k is not None and threshold is not None:
            raise ConfigError(f"clusterer.k={k} and clusterer.threshold={threshold}: give one of them")
        if k is not None and k < 1:
            raise ConfigError(f"clusterer.k={k}: at least 1, or null to have it chosen")
        if threshold is not None and not -1 <= threshold <= 1:
            raise ConfigError(f"clusterer.threshold={threshold}: a cosine lies between -1 and 1")
        self.k = k
        self.threshold = threshold

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        from sklearn.cluster import AgglomerativeClustering

        size: dict[str, float | None] = {"n_clusters": min(self.k or choose_cluster_count(len(rows)), len(rows))}
        if self.threshold is not None:
            size = {"n_clusters": None, "distance_threshold": 1 - self.threshold}
        model = AgglomerativeClustering(**size, metric="cosine", linkage="average")
        labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels
