"""The BM25 index of one domain, which bm25s has built: kept on disk, and memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import bm25s
import numpy as np

from convrag.sdk.stemming import stem_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from convrag_retrieval.bm25 import BM25Settings

_BATCH = 100
"""Texts that bm25s splits at once: for each call it makes a progress bar, shown or not."""


class BM25Index:
    """A saved index, memory-mapped and never written to: any number of threads and processes may search it.

    Args:
        folder: where `BM25Builder` saved it.
        settings: those that it was built with.
    """

    def __init__(self, folder: Path, settings: BM25Settings) -> None:
        self.settings = settings
        self._index = bm25s.BM25.load(folder, mmap=True)
        # Under bm25l and bm25+, bm25s adds a constant for a query word that a passage lacks. It is the same for all
        # passages; without it, a score above 0 means that a word was found.
        self._index.nonoccurrence_array = None

    def search(self, texts: Sequence[str], weights: Sequence[float], k: int) -> list[tuple[int, float]]:
        """Search for weighted queries: at most k (position, summed score), best first, ties by position."""
        total = self.scores(texts, weights)
        return [(int(position), float(total[position])) for position in _top_k(total, k)]

    def scores(self, texts: Sequence[str], weights: Sequence[float]) -> NDArray[np.float64]:
        """Score all passages for weighted queries: (passages,) sums of weight times score."""
        total = np.zeros(self._index.scores["num_docs"])
        for found, weight in zip(tokenize(texts, self.settings), weights, strict=True):
            if ids := self._index.get_tokens_ids(found):
                total += weight * self._index.get_scores_from_ids(ids).astype(np.float64)
        return total


def tokenize(texts: Iterable[str], settings: BM25Settings) -> Iterator[list[str]]:
    """Yield the words of each text, of passages and queries alike, in order, repeated ones included."""
    stemmer = stem_words if settings.stemmer == "english" else None
    stopwords = settings.stopwords if settings.stopwords == "english" else []
    rest = iter(texts)
    while batch := list(islice(rest, _BATCH)):
        yield from bm25s.tokenize(batch, stopwords=stopwords, stemmer=stemmer, return_ids=False, show_progress=False)


def _top_k(scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Select the positions of the k largest positive scores, in falling order, ties by position."""
    found = np.flatnonzero(scores > 0)
    if len(found) > k:
        least = np.partition(scores[found], -k)[-k]
        found = found[scores[found] >= least]
    order = np.argsort(-scores[found], kind="stable")
    return found[order][:k].astype(np.int64)
