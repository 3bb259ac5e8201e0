"""Which sentences are selected: representatives of clusters, then maximal marginal relevance (MMR)."""

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


def select_by_mmr(query: NDArray[np.float32], rows: NDArray[np.float32], count: int, lambda_: float) -> list[int]:
    """The positions of at most `count` rows, selected by maximal marginal relevance (Carbonell and Goldstein 1998).

    They are in the order of selection; on a tie the first row is selected. A row's score is lambda_ * similarity to
    the query - (1 - lambda_) * similarity to the most similar row selected.

    Args:
        query: (d,) unit or zero vector.
        rows: (n, d) unit or zero rows.
        count: rows to select.
        lambda_: 1 is relevance only, 0 is diversity only; the first row selected is the most relevant one in any case.
    """
    exact = rows.astype(np.float64)
    scores = _similarities(exact, query.astype(np.float64))
    relevance = lambda_ * scores
    redundancy = np.full(len(rows), -np.inf)
    selected: list[int] = []
    while len(selected) < min(count, len(rows)):
        selected.append(int(scores.argmax()))
        redundancy = np.maximum(redundancy, _similarities(exact, exact[selected[-1]]))
        scores = relevance - (1 - lambda_) * redundancy
        scores[selected] = -np.inf
    return selected


def _similarities(rows: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines of rows with a vector. No matrix product: BLAS may give equal rows slightly different ones."""
    similarities: NDArray[np.float64] = (rows * vector).sum(axis=1)
    return similarities
