"""Spherical k-means on sparse rows.

Not scikit-learn's, which adds up the results of several threads in the order in which they finish, so that two runs may
differ in the last bits, and which warns of equal rows, as a repeated question gives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

STARTS = 2
ROUNDS = 10
_SEED = 0
_SAME = 1e-9  # a row within this distance of a centre does not become another centre


def kmeans(rows: csr_matrix, k: int) -> NDArray[np.int64]:
    """Unit rows -> (n,) labels 0, 1, ... in order of first appearance; -1 for a zero row, which is in no cluster.

    There are at most k clusters, fewer where fewer rows differ. The best of STARTS starts (k-means++, fixed seed) is
    taken, so that the result depends on the rows alone.
    """
    filled = np.flatnonzero(np.diff(rows.indptr))
    labels = np.full(rows.shape[0], -1, dtype=np.int64)
    if len(filled):
        inside = rows[filled]
        generator = np.random.default_rng(_SEED)
        solutions = [_iterate(inside, _choose_centres(inside, k, generator)) for _ in range(STARTS)]
        labels[filled] = max(solutions, key=lambda solution: solution[1])[0]
    return _renumber(labels)


def _choose_centres(rows: csr_matrix, k: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """K-means++: each further centre is a row, drawn with a probability that grows with its distance."""
    chosen = [int(generator.integers(rows.shape[0]))]
    distances = _distances(rows, chosen[0])
    while len(chosen) < k and distances.max() > _SAME:
        reach = np.cumsum(np.where(distances > _SAME, distances, 0))
        chosen.append(int(np.searchsorted(reach, generator.random() * reach[-1], side="right")))
        distances = np.minimum(distances, _distances(rows, chosen[-1]))
    centres: NDArray[np.float64] = rows[chosen].toarray()
    return centres


def _distances(rows: csr_matrix, position: int) -> NDArray[np.float64]:
    """(n,) distances of all rows from one of them: 1 - cosine."""
    distances: NDArray[np.float64] = 1 - rows @ rows[[position]].toarray().ravel()
    return distances


def _iterate(rows: csr_matrix, centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Lloyd's algorithm until no row changes its centre: labels, and the sum of cosines with the centres."""
    labels, total = _assign_to_nearest(rows, centres)
    for _ in range(ROUNDS):
        sums = (rows.T @ np.eye(len(centres))[labels]).T
        lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
        before = labels
        labels, total = _assign_to_nearest(rows, np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0))
        if np.array_equal(labels, before):
            break
    return labels, total


def _assign_to_nearest(rows: csr_matrix, centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    closeness = rows @ centres.T
    labels = np.asarray(closeness.argmax(axis=1), dtype=np.int64)
    return labels, round(float(closeness.max(axis=1).sum()), 9)


def _renumber(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    order = {label: number for number, label in enumerate(dict.fromkeys(labels[labels >= 0].tolist()))}
    return np.array([order.get(label, -1) for label in labels.tolist()], dtype=np.int64)
