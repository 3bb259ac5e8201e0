"""`clusterer=kmeans`."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from convrag import ConfigError
from convrag_clusterers.base_clusterers import EmbeddingClusterer, choose_cluster_count, count_distinct_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_single_threaded = threading.Lock()
"""Held during a fit, in which the numerical libraries run in one thread: several would add up in any order, and hinder
each other over so little. The limit holds for the whole process, so that two fits at once would undo each other's."""


class KMeansClusterer(EmbeddingClusterer):
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

    libraries = ("scikit-learn", "threadpoolctl")

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
        if (k is not None and k < 1) or restarts < 1:
            raise ConfigError(f"clusterer.k={k} and clusterer.restarts={restarts}: at least 1; k=null has it chosen")
        if not 2 <= least <= most:
            raise ConfigError(f"clusterer.least={least} and clusterer.most={most}: 2 <= least <= most")
        self.k = k
        self.choose = choose
        self.least = least
        self.most = most
        self.restarts = restarts
        self.seed = seed

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        import numpy as np

        n, distinct = len(rows), count_distinct_rows(rows)
        if self.k is not None:
            return self._run_kmeans(rows, min(self.k, distinct))
        if n <= 2:
            return np.zeros(n, dtype=np.int64)
        if self.choose == "silhouette":
            return self._choose_by_silhouette(rows, distinct)
        return self._run_kmeans(rows, min(choose_cluster_count(n, self.least, self.most), distinct))

    def _choose_by_silhouette(self, rows: NDArray[np.float32], distinct: int) -> NDArray[np.int64]:
        """The labels with the largest mean silhouette, which is defined for more texts than clusters."""
        from sklearn.metrics import silhouette_score

        largest = min(self.most, distinct, len(rows) - 1)
        labelings = [self._run_kmeans(rows, k) for k in range(min(self.least, largest), largest + 1)]
        scores = [round(float(silhouette_score(rows, labels)), 6) for labels in labelings]
        return labelings[scores.index(max(scores))]  # of equal ones the first, with the smallest k

    def _run_kmeans(self, rows: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        from sklearn.cluster import KMeans

        model = KMeans(k, n_init=self.restarts, random_state=self.seed)
        with _single_threaded, _find_thread_pools().limit(limits=1):
            labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels


@cache
def _find_thread_pools() -> Any:
    """A controller of the libraries that run threads of their own; finding them takes longer than a fit."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
