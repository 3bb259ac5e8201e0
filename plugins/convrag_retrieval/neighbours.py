"""An approximate index: a graph of near neighbours (HNSW, Malkov and Yashunin 2016) over the rows of a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import faiss
import numpy as np

from convrag.sdk.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILE = "neighbours.faiss"
_LINKS = 32  # per row, and how widely the graph is searched while it is built: usual values for some hundred dimensions
_BUILD_WIDTH = 200
_SEARCH_WIDTH = 256
_BATCH = 4096


class NeighbourGraph:
    """A saved graph, memory-mapped. It names candidates only: their scores are taken from the exact vectors."""

    def __init__(self, folder: Path) -> None:
        self._index = faiss.read_index(str(folder / _FILE), faiss.IO_FLAG_MMAP_IFC)

    @staticmethod
    def build(rows: NDArray[np.float32], domain: str, folder: Path) -> None:
        """Link the rows, half as precise as they are, by inner product; always the same graph for the same rows."""
        index = faiss.IndexHNSWSQ(rows.shape[1], faiss.ScalarQuantizer.QT_fp16, _LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _BUILD_WIDTH
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # two threads would link the rows in an order that chance decides
        try:
            starts = range(0, len(rows), _BATCH)
            for start in track(starts, f"Linking neighbours of {domain}", total=len(starts)):
                index.add(np.ascontiguousarray(rows[start : start + _BATCH]))
        finally:
            faiss.omp_set_num_threads(threads)
        faiss.write_index(index, str(folder / _FILE))

    def candidates(self, vector: NDArray[np.float64], k: int) -> NDArray[np.int64]:
        """The positions of about twice as many rows as wanted, among which nearly all of the k best are."""
        width = max(_SEARCH_WIDTH, 2 * k)
        search = faiss.SearchParametersHNSW(efSearch=2 * width)
        _, positions = self._index.search(vector.astype(np.float32)[None], width, params=search)
        found: NDArray[np.int64] = positions[0]
        return found[found >= 0]
