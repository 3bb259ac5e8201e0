"""The vectors of the tokens of a domain's passages on disk, searched by MaxSim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from convrag_neural.late_interaction import QueryTokens

TOKENS = "tokens.npy"
STARTS = "starts.npy"
TEXTS = "texts.npy"

BLOCK = 1 << 15
"""Tokens that are multiplied at once: 16 MB of them at 128 dimensions."""


class TextTokens(NamedTuple):
    """The vectors of the tokens of some texts.

    Args:
        hashes: (n,) the hash of each text, 16 bytes.
        starts: (n + 1,) where the tokens of each text begin, and where the last ones end.
        vectors: (t, d) float16 or float32.
    """

    hashes: NDArray[np.bytes_]
    starts: NDArray[np.int64]
    vectors: NDArray[np.floating]

    @classmethod
    def open(cls, folder: Path) -> TextTokens:
        """Open the files of an index; the vectors are memory-mapped."""
        vectors = np.load(folder / TOKENS, mmap_mode="r")
        return cls(np.load(folder / TEXTS), np.load(folder / STARTS), vectors)

    @classmethod
    def join(
        cls, hashes: NDArray[np.bytes_], texts: Sequence[NDArray[np.float32]], dtype: str
    ) -> TextTokens:
        """Join the vectors of single texts."""
        starts = make_starts(np.array([len(rows) for rows in texts], dtype=np.int64))
        return cls(hashes, starts, np.concatenate(texts).astype(dtype))

    def get(self, place: int) -> NDArray[np.floating]:
        """Return the vectors of one text."""
        return self.vectors[self.starts[place] : self.starts[place + 1]]


def make_starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make (n + 1,) starts of n texts from the numbers of their tokens."""
    return np.concatenate([np.zeros(1, dtype=np.int64), counts.cumsum()])


class TokenIndex:
    """The token vectors of all passages, memory-mapped and read-only; any thread may search.

    Args:
        folder: where the builder saved them.
        block: tokens that are multiplied at once; a passage with more is a block by itself.
    """

    def __init__(self, folder: Path, *, block: int = BLOCK) -> None:
        self._tokens = TextTokens.open(folder)
        self._block = block

    def search(self, query: QueryTokens, k: int) -> list[tuple[int, float]]:
        """Search all passages: k times (position, MaxSim), largest first.

        Equal passages score exactly alike, and come in the order of their positions.
        """
        positions = np.sort(self._shortlist(query, k))
        scores = np.array([query.score(self._tokens.get(place)) for place in positions.tolist()])
        order = np.argsort(-scores, kind="stable")[:k]
        return [(int(positions[place]), float(scores[place])) for place in order]

    def _shortlist(self, query: QueryTokens, k: int) -> NDArray[np.int64]:
        """Select the positions that can be among the k best.

        They are a few more than k, because float32 sums are rounded.
        """
        width = query.vectors.shape[1]
        # Twice the largest error of the sums over unit rows.
        slack = 2 * width * np.finfo(np.float32).eps * float(np.abs(query.weights).sum())
        positions, scores = np.zeros(0, dtype=np.int64), np.zeros(0)
        for start, end in self._list_blocks():
            positions = np.concatenate([positions, np.arange(start, end)])
            scores = np.concatenate([scores, self._score_block(query, start, end)])
            if len(scores) > k:
                near = scores >= np.partition(scores, -k)[-k] - slack
                positions, scores = positions[near], scores[near]
        return positions

    def _score_block(self, query: QueryTokens, start: int, end: int) -> NDArray[np.float64]:
        """Score the passages from a position to another, with float32 products."""
        starts = self._tokens.starts[start : end + 1]
        rows = self._tokens.vectors[starts[0] : starts[-1]].astype(np.float32)
        scores = np.zeros(end - start)
        has_tokens = np.diff(starts) > 0
        if has_tokens.any():
            products = rows @ query.vectors.T
            firsts = (starts[:-1] - starts[0])[has_tokens]
            scores[has_tokens] = np.maximum.reduceat(products, firsts, axis=0) @ query.weights
        return scores

    def _list_blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the first position of each block, and the one after its last."""
        starts = self._tokens.starts
        count = len(starts) - 1
        start = 0
        while start < count:
            end = int(np.searchsorted(starts, starts[start] + self._block, side="right")) - 1
            end = min(max(end, start + 1), count)
            yield start, end
            start = end


def create_vectors(folder: Path, shape: tuple[int, int], dtype: str) -> Any:
    """Create the file of the vectors, (t, d), to be filled and flushed."""
    return np.lib.format.open_memmap(folder / TOKENS, mode="w+", dtype=dtype, shape=shape)
