"""Spherical k-means on sparse rows.

Why not scikit-learn's: it adds up the work of several threads in the order in which they finish, so that two runs may
differ in the last bits, and it warns where rows are equal, as they are when a question is repeated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

STARTS = 2
ROUNDS = 10
_SEED = 0
_SAME = 1e-9  # rows as close as this to a centre are no reason for another centre


def kmeans(rows: csr_matrix, k: int) -> NDArray[np.int64]:
    """Unit rows -> (n,) labels 0, 1, ... in order of first appearance; -1 for a zero row, which belongs nowhere.

    There are at most k clusters, fewer where fewer rows differ. The best of several starts (k-means++) is taken; the
    result depends on the rows alone.
    """
    filled = np.flatnonzero(np.diff(rows.indptr))
    labels = np.full(rows.shape[0], -1, dtype=np.int64)
    if len(filled):
        inside = rows[filled]
        generator = np.random.default_rng(_SEED)
        tries = [_settle(inside, _start(inside, k, generator)) for _ in range(STARTS)]
        labels[filled] = max(tries, key=lambda found: found[1])[0]
    return _renumbered(labels)


def _start(rows: csr_matrix, k: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """K-means++: each further centre is a row, the likelier the farther it is from the centres that are there."""
    chosen = [int(generator.integers(rows.shape[0]))]
    distances = _distances(rows, chosen[0])
    while len(chosen) < k and distances.max() > _SAME:
        reach = np.cumsum(np.where(distances > _SAME, distances, 0))
        chosen.append(int(np.searchsorted(reach, generator.random() * reach[-1], side="right")))
        distances = np.minimum(distances, _distances(rows, chosen[-1]))
    centres: NDArray[np.float64] = rows[chosen].toarray()
    return centres


def _distances(rows: csr_matrix, place: int) -> NDArray[np.float64]:
    """Of all rows from one of them: 1 - cosine."""
    distances: NDArray[np.float64] = 1 - rows @ rows[[place]].toarray().ravel()
    return distances


def _settle(rows: csr_matrix, centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Lloyd's rounds until no row changes its centre: labels, and how close the rows are to their centres."""
    labels, total = _nearest(rows, centres)
    for _ in range(ROUNDS):
        sums = (rows.T @ np.eye(len(centres))[labels]).T
        lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
        before = labels
        labels, total = _nearest(rows, np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0))
        if np.array_equal(labels, before):
            break
    return labels, total


def _nearest(rows: csr_matrix, centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    closeness = rows @ centres.T
    labels = np.asarray(closeness.argmax(axis=1), dtype=np.int64)
    return labels, round(float(closeness.max(axis=1).sum()), 9)


def _renumbered(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    order = {label: number for number, label in enumerate(dict.fromkeys(labels[labels >= 0].tolist()))}
    return np.array([order.get(label, -1) for label in labels.tolist()], dtype=np.int64)
