"""The vectors of a domain's passages: written once, in batches, and searched memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag import Embedder
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "vectors.npy"
BLOCK = 1 << 16
"""Rows that are multiplied at once: 100 MB of them at 384 dimensions, and one score each."""


class Vectors:
    """A saved float32 matrix of unit rows, memory-mapped and never written to: any number of threads may search it.

    Args:
        folder: where `write_vectors` saved it.
        block: rows that are multiplied at once.
    """

    def __init__(self, folder: Path, *, block: int = BLOCK) -> None:
        self.rows: NDArray[np.float32] = np.load(folder / FILE, mmap_mode="r")
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
        sums = [(self.rows[part].astype(np.float64) * vector).sum(axis=1) for part in parts]
        return np.concatenate(sums) if sums else np.zeros(0)

    def _shortlist(self, vector: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Select the positions that can be among the k best: a few more than k, because float32 sums are rounded."""
        slack = self.rows.shape[1] * np.finfo(np.float32).eps  # twice the largest error of a sum over unit rows
        positions, scores = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        for start in range(0, len(self.rows), self._block):
            fresh = self.rows[start : start + self._block] @ vector
            positions = np.concatenate([positions, np.arange(start, start + len(fresh))])
            scores = np.concatenate([scores, fresh])
            if len(scores) > k:
                near = scores >= np.partition(scores, -k)[-k] - slack
                positions, scores = positions[near], scores[near]
        return positions


def write_vectors(corpus: Corpus, embedder: Embedder, batch_size: int, folder: Path) -> None:
    """Embed the passages of a corpus (title and text), and save row by position into `folder`, a batch at a time."""
    rows: NDArray[np.float32] | None = None
    texts = (passage.content for passage in track(corpus, f"Embedding {corpus.domain}", total=len(corpus)))
    for start, batch in _batches(texts, batch_size):
        vectors = _embed_uncached(embedder, batch)
        if rows is None:
            shape = (len(corpus), vectors.shape[1])
            rows = np.lib.format.open_memmap(folder / FILE, mode="w+", dtype=np.float32, shape=shape)
        rows[start : start + len(batch)] = vectors
    assert isinstance(rows, np.memmap)  # a corpus has at least one passage
    rows.flush()


def _batches(texts: Iterator[str], size: int) -> Iterator[tuple[int, list[str]]]:
    start = 0
    while batch := list(islice(texts, size)):
        yield start, batch
        start += len(batch)


def _embed_uncached(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed by the method of the class.

    The kernel wraps the method of the object with its cache, which would keep each passage's vector in the store a
    second time, row by row; the vectors of a corpus are kept in its index alone.
    """
    return type(embedder).embed(embedder, texts)
