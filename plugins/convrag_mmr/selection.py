"""The numbers: representatives of clusters, and maximal marginal relevance (Carbonell and Goldstein 1998)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_DECIMALS = 6  # cosines that agree so far differ by rounding: of two rows, say, neither is nearer to their mean


def representatives(rows: NDArray[np.float32], labels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The positions of each cluster's rows that are nearest to its centroid, in rising order.

    Args:
        rows: (n, d) unit or zero rows.
        labels: (n,) clusters; an outlier (-1) stands for nothing but itself, and represents itself.
        most: how many of each cluster. Of rows that are equally near, the earlier ones.
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


def mmr(query: NDArray[np.float32], rows: NDArray[np.float32], count: int, lambda_: float) -> list[int]:
    """The positions of at most `count` rows, in the order in which they were picked; on a tie the first row is.

    A row's score is lambda_ * similarity to the query - (1 - lambda_) * similarity to the most similar row picked.

    Args:
        query: (d,) unit or zero vector.
        rows: (n, d) unit or zero rows.
        count: rows to pick.
        lambda_: 1 looks at relevance only, 0 at diversity only, but for the first pick, which is the most relevant.
    """
    exact = rows.astype(np.float64)
    scores = _similarities(exact, query.astype(np.float64))
    relevance = lambda_ * scores
    redundancy = np.full(len(rows), -np.inf)
    picked: list[int] = []
    while len(picked) < min(count, len(rows)):
        picked.append(int(scores.argmax()))
        redundancy = np.maximum(redundancy, _similarities(exact, exact[picked[-1]]))
        scores = relevance - (1 - lambda_) * redundancy
        scores[picked] = -np.inf
    return picked


def _similarities(rows: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines; equal rows get equal ones, which BLAS, adding up some rows in another order, does not promise."""
    similarities: NDArray[np.float64] = (rows * vector).sum(axis=1)
    return similarities
