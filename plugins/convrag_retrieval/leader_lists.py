"""Approximate nearest neighbours: rows in lists by the nearest of some of the rows, their leaders, with faiss."""

import sys
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

from convrag.sdk.progress import track
from convrag_retrieval.vectors import StoredRows

_FILE = "lists.faiss"
_PROBES = 128
"""Lists that are searched."""
_MIN_CANDIDATES = 256
_ROWS = 16
"""Rows that the searched lists have for each candidate, at least."""
_BLOCK = 1 << 12
_SHARE = 4
"""Leaders for each square root of the number of rows."""


class LeaderLists:
    """Saved lists, memory-mapped and never written to: any number of threads may search them.

    A search compares the vector with all leaders, and with the rows of the nearest ones' lists (cluster pruning,
    Chierichetti et al. 2007). It finds candidates; their scores are computed from the vectors.

    Args:
        folder: where `save` put them.
    """

    def __init__(self, folder: Path) -> None:
        flags = faiss.IO_FLAG_READ_ONLY if sys.platform == "win32" else faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_MMAP
        self._index = faiss.read_index(str(folder / _FILE), flags)
        if sys.platform != "win32":  # faiss maps no lists there
            faiss.downcast_InvertedLists(self._index.invlists).prefetch_nthread = 0  # no threads that read pages

    @staticmethod
    def save(folder: Path, leaders: NDArray[np.float32], rows: StoredRows, lists: NDArray[np.int64]) -> None:
        """Save rows in lists, each row in a byte per dimension. Equal rows and lists give equal files.

        Args:
            folder: gets the file.
            leaders: (m, d) unit vectors.
            rows: (n, d) unit vectors.
            lists: (n,) the leader of each.
        """
        width = leaders.shape[1]
        flat = faiss.IndexFlatIP(width)
        flat.add(leaders)
        index = faiss.IndexIVFScalarQuantizer(
            flat, width, len(leaders), faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        index.by_residual = False
        index.sq.train(leaders)
        index.is_trained = True
        for start in range(0, len(lists), _BLOCK):
            block = rows.read(slice(start, start + _BLOCK))
            own = np.ascontiguousarray(lists[start : start + _BLOCK], dtype=np.int64)
            index.add_core(len(own), faiss.swig_ptr(block), None, faiss.swig_ptr(own), None)
        faiss.write_index(index, str(folder / _FILE))

    def candidates(self, vector: NDArray[np.float64], k: int) -> NDArray[np.int64]:
        """Find the positions of up to 2 k rows (at least 256) near a vector: nearly all of the k best are there."""
        count = max(_MIN_CANDIDATES, 2 * k)
        wanted = _ROWS * count * self._index.nlist // max(self._index.ntotal, 1) + 1
        probes = min(self._index.nlist, max(_PROBES, wanted))
        found: NDArray[np.int64]
        _, (found,) = self._index.search(
            vector.astype(np.float32)[None], count, params=faiss.SearchParametersIVF(nprobe=probes)
        )
        return found[found >= 0]


def build_lists(rows: StoredRows, hashes: NDArray[np.bytes_], domain: str, folder: Path) -> None:
    """Save the lists of one index. Leaders are the rows of the texts with the smallest hashes: a random sample.

    Args:
        rows: unit vectors.
        hashes: (n,) the hashes of their texts.
        domain: shown with the progress.
        folder: an empty one.
    """
    distinct, firsts = np.unique(hashes, return_index=True)
    count = max(1, min(len(distinct), round(_SHARE * len(hashes) ** 0.5)))
    leaders = rows.read(firsts[:count])
    starts = range(0, len(hashes), _BLOCK)
    blocks = track(starts, f"Finding neighbours of {domain}", total=len(starts))
    nearest = [(rows.read(slice(start, start + _BLOCK)) @ leaders.T).argmax(axis=1) for start in blocks]
    LeaderLists.save(folder, leaders, rows, np.concatenate(nearest))
