"""`clusterer=dbscan` and `clusterer=hdbscan`: dense regions of embeddings, and outliers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Interval

from convrag_clusterers.distinct import MIN_DISTINCT, spread_labels
from convrag_clusterers.embeddings import EmbeddingClusterer, find_distinct_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DensityClusterer(EmbeddingClusterer):
    """Clusters texts by the density of their embeddings; others are outliers.

    Texts with equal rows count once, and share a cluster. Three different rows or fewer are
    clusters of their own, since so few have no density (as for clusterer=bertopic).
    """

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        import numpy as np

        distinct, positions = find_distinct_rows(rows)
        labels = list(range(len(distinct)))
        if len(distinct) >= MIN_DISTINCT:
            labels = self._find_dense_regions(distinct.astype(np.float64)).tolist()
        return np.array(spread_labels(labels, positions), dtype=np.int64)

    @abstractmethod
    def _find_dense_regions(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """Label (n, d) different unit rows, of which there are four at least: (n,) labels."""


@dataclass(kw_only=True, eq=False)
class DbscanClusterer(DensityClusterer):
    """Cluster embeddings with DBSCAN: texts near each other; a text by itself is an outlier.

    Args:
        eps: the largest cosine distance (1 minus the similarity) of neighbours, 0 to 2. More makes
            fewer, wider clusters. How near is near depends on the embedder; with 0.5, neighbours
            have a similarity of at least a half.
        min_samples: the texts near a text, itself included, that make it the core of a cluster (2:
            two texts that say the same are a topic). More makes more outliers.
    """

    eps: Annotated[float, Interval(gt=0, le=2)] = 0.5
    min_samples: Annotated[int, Ge(1)] = 2

    def _find_dense_regions(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        from sklearn.cluster import DBSCAN

        model = DBSCAN(eps=self.eps, min_samples=self.min_samples, metric="cosine")
        labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels


@dataclass(kw_only=True, eq=False)
class HdbscanClusterer(DensityClusterer):
    """Cluster embeddings with HDBSCAN: dense regions of any density, without a distance to set.

    It is scikit-learn's HDBSCAN on whole embeddings; clusterer=bertopic projects them first. If
    there are fewer different texts than a parameter needs, it is as large as they allow.

    Args:
        min_cluster_size: the fewest texts of a cluster (2: GINGER).
        min_samples: the neighbours that make a region dense, the text itself included (1: GINGER).
            More makes more outliers.
    """

    min_cluster_size: Annotated[int, Ge(2)] = 2
    min_samples: Annotated[int, Ge(1)] = 1

    def _find_dense_regions(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        from sklearn.cluster import HDBSCAN

        model = HDBSCAN(
            min_cluster_size=min(self.min_cluster_size, len(rows)),
            min_samples=min(self.min_samples, len(rows)),
            copy=True,
        )
        labels: NDArray[np.int64] = model.fit_predict(rows)
        return labels
