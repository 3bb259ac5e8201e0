"""Vectors of a domain's passages: unit rows on disk, searched memory-mapped.

The rows are float32, float16 or int8.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from convrag import ConvragError

Quantize = Literal["none", "float16", "int8"]

FILE = "vectors.npy"
_SCALES = "scales.npy"
_TYPES = {"none": np.float32, "float16": np.float16, "int8": np.int8}
_LARGEST = 127


class StoredRows:
    """Rows in a folder. Rows of int8 have a scale each: the number that 1 stands for.

    What was read and is written again is the same, bit by bit.

    Args:
        stored: (n, d) as they are on disk.
        scales: (n,) of int8; None for others.
    """

    def __init__(self, stored: NDArray[np.generic], scales: NDArray[np.float16] | None) -> None:
        self.stored = stored
        self._scales = scales

    @classmethod
    def open(cls, folder: Path) -> StoredRows:
        """Open rows that are never written to."""
        stored = np.load(folder / FILE, mmap_mode="r")
        return cls(stored, np.load(folder / _SCALES) if stored.dtype == np.int8 else None)

    @classmethod
    def create(cls, folder: Path, shape: tuple[int, int], quantize: Quantize) -> StoredRows:
        """Create a file for n rows of width d."""
        stored = np.lib.format.open_memmap(
            folder / FILE, mode="w+", dtype=_TYPES[quantize], shape=shape
        )
        return cls(stored, np.zeros(len(stored), dtype=np.float16) if quantize == "int8" else None)

    def __len__(self) -> int:
        return len(self.stored)

    def read(self, which: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Read some rows as float32."""
        rows: NDArray[np.float32] = np.asarray(self.stored[which]).astype(np.float32)
        if self._scales is not None:
            rows *= self._scales[which].astype(np.float32)[:, None]
        return rows

    def write(self, positions: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        """Write float32 rows to positions."""
        if self._scales is not None:
            # A scale of 11 bits times 127 is exact, so that rows which were read have the same
            # scale again.
            scales = (np.abs(rows).max(axis=1, initial=0) / _LARGEST).astype(np.float16)
            self._scales[positions] = scales
            divisors = np.where(scales > 0, scales, 1).astype(np.float32)[:, None]
            rows = np.clip(np.rint(rows / divisors), -_LARGEST, _LARGEST)
        self.stored[positions] = rows

    def save(self, folder: Path) -> None:
        """Complete the files in a folder."""
        assert isinstance(self.stored, np.memmap)
        self.stored.flush()
        if self._scales is not None:
            np.save(folder / _SCALES, self._scales)


BLOCK = 1 << 16
"""Rows that are multiplied at once: 100 MB of them at 384 dimensions, and one score each."""


class Vectors:
    """A saved, memory-mapped matrix of unit rows, never written to; many threads may search it.

    Args:
        folder: where `VectorBuilder` saved it.
        block: rows that are multiplied at once.
    """

    def __init__(self, folder: Path, *, block: int = BLOCK) -> None:
        self.rows = StoredRows.open(folder)
        self._block = block

    def search(self, vector: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
        """Search for a unit vector: k times (position, product), largest first.

        Raises ConvragError for a vector of another length.
        """
        width = self.rows.stored.shape[1]
        if len(vector) != width:
            raise ConvragError(
                f"the index has vectors of {width} numbers, and the embedder now gives "
                f"{len(vector)}: another model has taken the place of the one that the index was "
                "built with. Name it as it is called (embedder.model), so that it gets an index"
            )
        positions = np.sort(self._shortlist(vector.astype(np.float32), k))
        scores = self.score(vector, positions)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(int(positions[index]), float(scores[index])) for index in order]

    def score(
        self, vector: NDArray[np.float64], positions: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Multiply the rows at `positions` with a vector, so that equal rows score exactly alike.

        A product of matrix and vector does not promise that: BLAS may sum a row in an order that
        depends on its place.
        """
        parts = [
            positions[start : start + self._block]
            for start in range(0, len(positions), self._block)
        ]
        sums = [(self.rows.read(part).astype(np.float64) * vector).sum(axis=1) for part in parts]
        return np.concatenate(sums) if sums else np.zeros(0)

    def _shortlist(self, vector: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Select the positions that can be among the k best.

        They are a few more than k, because float32 sums are rounded.
        """
        slack = (
            len(vector) * np.finfo(np.float32).eps
        )  # twice the largest error of a sum over unit rows
        positions, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        for start in range(0, len(self.rows), self._block):
            fresh = self.rows.read(slice(start, start + self._block)) @ vector
            positions = np.concatenate([positions, np.arange(start, start + len(fresh))])
            scores = np.concatenate([scores, fresh])
            if len(scores) > k:
                near = scores >= np.partition(scores, -k)[-k] - slack
                positions, scores = positions[near], scores[near]
        return positions
