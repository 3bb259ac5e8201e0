"""The search for vectors among some passages of an index.

It is not in `vectors`, whose source is part of the key of every index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convrag_retrieval.vectors import BLOCK, Vectors


def search_among(
    vectors: Vectors, vector: NDArray[np.float64], k: int, among: NDArray[np.int64]
) -> list[tuple[int, float]]:
    """Search the rows at some positions for a unit vector, with the scores of `Vectors.search`.

    Args:
        vectors: the rows.
        vector: (d,) the vector.
        k: how many, at least 1.
        among: the positions to search, rising.

    Returns:
        At most k times (position, product), largest first, ties by position.

    Raises:
        ConvragError: the vector has another length than the rows.
    """
    if not len(among):
        return []
    if len(vector) != vectors.rows.stored.shape[1]:
        return vectors.search(vector, k)  # which says what is wrong
    positions = np.sort(_shortlist(vectors, vector.astype(np.float32), k, among))
    scores = vectors.score(vector, positions)
    order = np.argsort(-scores, kind="stable")[:k]
    return [(int(positions[index]), float(scores[index])) for index in order]


def _shortlist(
    vectors: Vectors, vector: NDArray[np.float32], k: int, among: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Select the positions that can be among the k best: a few more, since sums are rounded."""
    slack = len(vector) * np.finfo(np.float32).eps  # twice the error of a sum over unit rows
    positions = np.zeros(0, dtype=np.int64)
    scores = np.zeros(0, dtype=np.float32)
    for start in range(0, len(among), BLOCK):
        part = among[start : start + BLOCK]
        positions = np.concatenate([positions, part])
        scores = np.concatenate([scores, vectors.rows.read(part) @ vector])
        if len(scores) > k:
            near = scores >= np.partition(scores, -k)[-k] - slack
            positions = positions[near]
            scores = scores[near]
    return positions
