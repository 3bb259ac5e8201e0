"""The vectors of a domain's passages, searched memory-mapped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag_retrieval.stored_rows import StoredRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 16
"""Rows that are multiplied at once: 100 MB of them at 384 dimensions, and one score each."""


class Vectors:
    """A saved matrix of unit rows, memory-mapped and never written to: any number of threads may search it.

    Args:
        folder: where `VectorBuilder` saved it.
        block: rows that are multiplied at once.
    """

    def __init__(self, folder: Path, *, block: int = BLOCK) -> None:
        self.rows = StoredRows.open(folder)
        self.width = self.rows.stored.shape[1]
        self._block = block

    def search(self, vector: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
        """Search all rows for a unit vector: k times (position, product), largest first, ties by position."""
        return self.best(vector, self._shortlist(vector.astype(np.float32), k), k)

    def best(self, vector: NDArray[np.float64], positions: NDArray[np.int64], k: int) -> list[tuple[int, float]]:
        """Select the k best of the rows at `positions`, in the form that `search` returns."""
        positions = np.sort(positions)
        scores = self.score(vector, positions)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(int(positions[index]), float(scores[index])) for index in order]

    def score(self, vector: NDArray[np.float64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Multiply the rows at `positions` with a vector, each summed in one order: equal rows score exactly alike.

        A product of matrix and vector does not promise that: BLAS may sum a row in an order that depends on its place.
        """
        parts = [positions[start : start + self._block] for start in range(0, len(positions), self._block)]
        sums = [(self.rows.read(part).astype(np.float64) * vector).sum(axis=1) for part in parts]
        return np.concatenate(sums) if sums else np.zeros(0)

    def _shortlist(self, vector: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Select the positions that can be among the k best: a few more than k, because float32 sums are rounded."""
        slack = self.width * np.finfo(np.float32).eps  # twice the largest error of a sum over unit rows
        positions, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        for start in range(0, len(self.rows), self._block):
            fresh = self.rows.read(slice(start, start + self._block)) @ vector
            positions = np.concatenate([positions, np.arange(start, start + len(fresh))])
            scores = np.concatenate([scores, fresh])
            if len(scores) > k:
                near = scores >= np.partition(scores, -k)[-k] - slack
                positions, scores = positions[near], scores[near]
        return positions
