"""Approximate nearest neighbours: an HNSW graph (Malkov and Yashunin 2016) over the rows of a matrix, with faiss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import faiss
import numpy as np

from convrag.sdk.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILE = "neighbours.faiss"
_M = 32  # links of each row; with the next, usual values for some hundred dimensions
_EF_CONSTRUCTION = 200
_MIN_CANDIDATES = 256
_BATCH = 4096


class HNSWGraph:
    """A saved graph, memory-mapped. It finds candidates; their scores are computed from the exact vectors.

    Args:
        folder: where `build` saved it.
    """

    def __init__(self, folder: Path) -> None:
        self._index = faiss.read_index(str(folder / _FILE), faiss.IO_FLAG_MMAP_IFC)

    @staticmethod
    def build(rows: NDArray[np.float32], domain: str, folder: Path) -> None:
        """Build a graph of the rows by inner product, and save it into `folder`. Equal rows give equal graphs.

        Args:
            rows: (n, d) unit vectors; the graph keeps them as float16.
            domain: shown with the progress.
            folder: where the graph is saved.
        """
        index = faiss.IndexHNSWSQ(rows.shape[1], faiss.ScalarQuantizer.QT_fp16, _M, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _EF_CONSTRUCTION
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # with more, the order of insertion, and so the graph, would be random
        try:
            starts = range(0, len(rows), _BATCH)
            for start in track(starts, f"Linking neighbours of {domain}", total=len(starts)):
                index.add(np.ascontiguousarray(rows[start : start + _BATCH]))
        finally:
            faiss.omp_set_num_threads(threads)
        faiss.write_index(index, str(folder / _FILE))

    def candidates(self, vector: NDArray[np.float64], k: int) -> NDArray[np.int64]:
        """Find the positions of at least 2 k rows near a vector, among which nearly all of the k nearest are."""
        count = max(_MIN_CANDIDATES, 2 * k)
        search = faiss.SearchParametersHNSW(efSearch=2 * count)
        _, positions = self._index.search(vector.astype(np.float32)[None], count, params=search)
        found: NDArray[np.int64] = positions[0]
        return found[found >= 0]
