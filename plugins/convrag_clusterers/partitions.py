"""Clusterers that are told how many clusters to make."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from convrag import ConfigError
from convrag_clusterers.vectors import VectorClusterer, distinct, rule_of_thumb

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_one_thread = threading.Lock()
"""Several threads of the numerical libraries would add up in any order, and get in each other's way over so little. But
they are limited for the whole process, so that two fits at once would restore each other's limits."""


class KMeansClusterer(VectorClusterer):
    """Cluster embeddings with k-means; the number of clusters grows with the root of the number of texts.

    Every text that the embedder knows belongs to a cluster. One or two texts, or equal ones, are one cluster.

    Args:
        k: the number of clusters, never more than there are different texts; None lets `choose` decide.
        choose: how k is found. "sqrt": the root of the number of texts, rounded down (the MMR seed); "silhouette":
            whatever separates the clusters best (its second version; Rousseeuw 1987), the smaller k on a tie.
        least: the smallest k that is chosen (2: the MMR seed).
        most: the largest k that is chosen (7: the MMR seed, which wants a small pool of candidates).
        restarts: how often to start anew, keeping the tightest result; more takes longer in proportion. 1 is
            scikit-learn's default for the careful k-means++ start; the seed's code had 10.
        seed: of the random starts (42: the seed's code).

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        choose: Literal["sqrt", "silhouette"] = "sqrt",
        least: int = 2,
        most: int = 7,
        restarts: int = 1,
        seed: int = 42,
    ) -> None:
        if k is not None and k < 1:
            raise ConfigError(f"clusterer.k={k}: at least 1, or null to have it chosen")
        if not 2 <= least <= most:
            raise ConfigError(f"clusterer.least={least} and clusterer.most={most}: 2 <= least <= most")
        if restarts < 1:
            raise ConfigError(f"clusterer.restarts={restarts}: at least 1")
        self.k = k
        self.choose = choose
        self.least = least
        self.most = most
        self.restarts = restarts
        self.seed = seed

    def _labels(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        import numpy as np

        n, different = len(rows), distinct(rows)
        if self.k is not None:
            return self._fit(rows, min(self.k, different))
        if n <= 2:
            return np.zeros(n, dtype=np.int64)
        if self.choose == "silhouette":
            return self._best_separated(rows, different)
        return self._fit(rows, min(rule_of_thumb(n, self.least, self.most), different))

    def _best_separated(self, rows: NDArray[np.float32], different: int) -> NDArray[np.int64]:
        """By silhouette, which needs more texts than clusters."""
        from sklearn.metrics import silhouette_score

        largest = min(self.most, different, len(rows) - 1)
        tried = [self._fit(rows, k) for k in range(min(self.least, largest), largest + 1)]
        return max(tried, key=lambda labels: round(float(silhouette_score(rows, labels)), 6))  # the first of the best

    def _fit(self, rows: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        from sklearn.cluster import KMeans

        model = KMeans(k, n_init=self.restarts, random_state=self.seed)
        with _one_thread, _pools().limit(limits=1):
            labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels


class AgglomerativeClusterer(VectorClusterer):
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

    def _labels(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        from sklearn.cluster import AgglomerativeClustering

        size: dict[str, float | None] = {"n_clusters": min(self.k or rule_of_thumb(len(rows)), len(rows))}
        if self.threshold is not None:
            size = {"n_clusters": None, "distance_threshold": 1 - self.threshold}
        model = AgglomerativeClustering(**size, metric="cosine", linkage="average")
        labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels


@cache
def _pools() -> Any:
    """The libraries that run threads of their own; finding them takes longer than a fit."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
