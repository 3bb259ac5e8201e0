"""Which sentences are candidates: the representatives of each cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_DECIMALS = 6  # beyond these, cosines differ by rounding errors: two rows are equally near to their mean


def select_representatives(rows: NDArray[np.float32], labels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The positions of each cluster's rows that are nearest to its centroid, in rising order.

    Args:
        rows: (n, d) unit or zero rows.
        labels: (n,) clusters; an outlier (-1) is a cluster of its own.
        most: the most rows of each cluster. Of rows that are equally near, the earlier ones are taken.
    """
    n = len(rows)
    if not n:
        return np.zeros(0, dtype=np.int64)
    groups = np.where(labels < 0, labels.max() + 1 + np.arange(n), labels)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=n)
    exact = rows[order].astype(np.float64)
    centroids = np.add.reduceat(exact, starts) / sizes[:, None]
    lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
    centroids /= np.where(lengths > 0, lengths, 1)
    nearness = (exact * np.repeat(centroids, sizes, axis=0)).sum(axis=1).round(_DECIMALS)
    cluster = np.repeat(np.arange(len(starts)), sizes)
    nearest = np.lexsort((order, -nearness, cluster))
    rank = np.arange(n) - np.repeat(starts, sizes)
    return np.sort(order[nearest[rank < most]])
