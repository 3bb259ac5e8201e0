"""Unit vectors on disk as float32, float16 or int8, memory-mapped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        stored = np.lib.format.open_memmap(folder / FILE, mode="w+", dtype=_TYPES[quantize], shape=shape)
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
            # A scale of 11 bits times 127 is exact, so that rows which were read have the same scale again.
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
