"""BERTopic's two steps, a projection by UMAP and clusters by HDBSCAN; the first call compiles for some ten seconds."""

from __future__ import annotations

import threading
import warnings

import numpy as np
from numpy.typing import NDArray

_MIN_SPECTRAL = 10  # for fewer texts, UMAP's spectral start has too few eigenvectors to choose from
_lock = threading.Lock()  # numba's default threading layer must not be entered by two threads


def find_topics(
    rows: NDArray[np.float32],
    *,
    neighbors: int,
    components: int,
    min_dist: float,
    min_cluster_size: int,
    min_samples: int,
    seed: int,
) -> NDArray[np.int64]:
    """(n, d) rows, n at least 4 -> (n,) topics, -1 for outliers. See BertopicClusterer for the parameters.

    A parameter that n texts do not allow is lowered to the largest value that they do.
    """
    n = len(rows)
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no TensorFlow, no threads with a seed, a graph of several parts: as wanted
        import hdbscan
        import umap

        reducer = umap.UMAP(
            n_neighbors=min(neighbors, n - 1),
            n_components=min(components, n - 3),
            min_dist=min_dist,
            init="spectral" if n >= _MIN_SPECTRAL else "random",
            random_state=seed,
        )
        projected = np.nan_to_num(reducer.fit_transform(rows))
        model = hdbscan.HDBSCAN(
            min_cluster_size=min(min_cluster_size, n), min_samples=min(min_samples, n - 1), core_dist_n_jobs=1
        )
        labels: NDArray[np.int64] = model.fit_predict(projected.astype(np.float64))
    return labels
