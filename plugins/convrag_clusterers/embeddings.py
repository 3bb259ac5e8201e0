"""Clusterers of embeddings, most with scikit-learn, and how clusters are numbered."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Interval

from convrag import Clusterer, ConfigError, Embedder
from convrag.sdk.threads import limit_to_one_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_ROW_DECIMALS = 6  # rows that agree so far differ by rounding


class EmbeddingClusterer(Clusterer):
    """Clusters texts by their embeddings.

    A text without a word that the embedder knows (a zero row) is like no other: an outlier. Texts
    with equal rows are one cluster. Only the other cases are left to an algorithm.
    """

    libraries = ("numpy", "scikit-learn")

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("sklearn")

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """Label n texts, (n,): clusters are numbered as they appear, -1 is an outlier."""
        import numpy as np

        labels = np.full(len(texts), -1, dtype=np.int64)
        if len(texts):
            rows = embedder.embed(list(texts))
            known = np.flatnonzero(rows.any(axis=1))
            several = count_distinct_rows(rows[known]) > 1
            labels[known] = renumber_labels(self._label_rows(rows[known])) if several else 0
        return labels

    @abstractmethod
    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Label (n, d) unit rows, of which two differ: (n,) labels, negative for outliers."""


def count_distinct_rows(rows: NDArray[np.float32]) -> int:
    """Count the different rows."""
    rounded = rows.round(_ROW_DECIMALS) + 0.0  # turns -0.0 into 0.0
    return len({row.tobytes() for row in rounded})


def renumber_labels(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber (n,) labels from 0 in the order in which they appear; negative ones become -1."""
    import numpy as np

    numbers: dict[int, int] = {}
    found = (int(label) for label in labels)
    return np.array(
        [-1 if label < 0 else numbers.setdefault(label, len(numbers)) for label in found],
        dtype=np.int64,
    )


def choose_cluster_count(n: int, least: int = 2, most: int = 7) -> int:
    """Return the root of the number of texts, rounded down, between two limits (the MMR seed's)."""
    return max(least, min(most, int(n**0.5)))


@dataclass(kw_only=True, eq=False)
class KMeansClusterer(EmbeddingClusterer):
    """Cluster embeddings with k-means; more texts give more clusters.

    Every text that the embedder knows belongs to a cluster. Equal texts are one cluster.

    Args:
        k: the number of clusters, never more than there are different texts; None lets `choose`
            decide.
        choose: how k is found. "sqrt": the root of the number of texts, rounded down (the MMR
            seed); "silhouette":
            whatever separates the clusters best (its second version; Rousseeuw 1987), the smaller k
            on a tie.
        least: the smallest k that is chosen (2: the MMR seed).
        most: the largest k that is chosen (7: the MMR seed, which wants a small pool of
            candidates).
        restarts: how often to start anew, keeping the tightest result; more takes longer in
            proportion. 1 is scikit-learn's default for the careful k-means++ start; the seed's code
            had 10.
        seed: of the random starts (42: the seed's code).

    Raises:
        ConfigError: most is below least.
    """

    libraries = ("scikit-learn", "threadpoolctl")

    k: Annotated[int | None, Ge(1)] = None
    choose: Literal["sqrt", "silhouette"] = "sqrt"
    least: Annotated[int, Ge(2)] = 2
    most: int = 7
    restarts: Annotated[int, Ge(1)] = 1
    seed: Annotated[int, Interval(ge=0, le=4_294_967_295)] = 42

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ConfigError(
                f"clusterer.most={self.most}: it must be at least clusterer.least={self.least}"
            )

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        n = len(rows)
        distinct = count_distinct_rows(rows)
        if self.k is not None:
            return self._run_kmeans(rows, min(self.k, distinct))
        if self.choose == "silhouette" and n > 2:
            return self._choose_by_silhouette(rows, distinct)
        return self._run_kmeans(rows, min(choose_cluster_count(n, self.least, self.most), distinct))

    def _choose_by_silhouette(self, rows: NDArray[np.float32], distinct: int) -> NDArray[np.int64]:
        """Return the labels with the largest mean silhouette.

        It is defined for more texts than clusters.
        """
        from sklearn.metrics import silhouette_score

        largest = min(self.most, distinct, len(rows) - 1)
        labelings = [
            self._run_kmeans(rows, k) for k in range(min(self.least, largest), largest + 1)
        ]
        scores = [round(float(silhouette_score(rows, labels)), 6) for labels in labelings]
        return labelings[scores.index(max(scores))]  # of equal ones the first, with the smallest k

    def _run_kmeans(self, rows: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        from sklearn.cluster import KMeans

        model = KMeans(k, n_init=self.restarts, random_state=self.seed)
        with limit_to_one_thread():
            labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels


@dataclass(kw_only=True, eq=False)
class AgglomerativeClusterer(EmbeddingClusterer):
    """Cluster embeddings bottom-up (average cosine linkage), to a number or up to a similarity.

    Args:
        k: the number of clusters, never more than there are texts; None takes the root of the
            number of texts, rounded down, between 2 and 7, as clusterer=kmeans does, so that the
            two can be compared.
        threshold: instead of a number: clusters are joined as long as the mean cosine similarity of
            their texts is at least this; how large is large depends on the embedder.

    Raises:
        ConfigError: both are given.
    """

    k: Annotated[int | None, Ge(1)] = None
    threshold: Annotated[float | None, Interval(ge=-1, le=1)] = None

    def __post_init__(self) -> None:
        if self.k is not None and self.threshold is not None:
            raise ConfigError(
                f"clusterer.k={self.k} and clusterer.threshold={self.threshold}: give one of them"
            )

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        from sklearn.cluster import AgglomerativeClustering

        size: dict[str, float | None] = {
            "n_clusters": min(self.k or choose_cluster_count(len(rows)), len(rows))
        }
        if self.threshold is not None:
            size = {"n_clusters": None, "distance_threshold": 1 - self.threshold}
        model = AgglomerativeClustering(**size, metric="cosine", linkage="average")
        labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels
