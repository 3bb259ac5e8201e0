"""The numbers of BM25 for one domain: built with bm25s from streamed passages, and searched where they lie on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import bm25s
import numpy as np
import Stemmer

from convrag import ConfigError
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import track
from convrag_retrieval.bm25_settings import BM25Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray


class BM25Index:
    """A saved index, memory-mapped and never written to: any number of threads and processes may search it."""

    def __init__(self, folder: Path, settings: BM25Settings) -> None:
        self.settings = settings
        self._index = bm25s.BM25.load(folder, mmap=True)
        # bm25s gives a word that a passage lacks a constant share under bm25l and bm25+. It moves all passages alike,
        # and without it a score above 0 means that a word was found.
        self._index.nonoccurrence_array = None

    @staticmethod
    def build(corpus: Corpus, settings: BM25Settings, folder: Path) -> None:
        """Index the passages of a corpus by position. Raises ConfigError where they have not one word."""
        vocabulary: dict[str, int] = {}
        texts = (passage.content for passage in track(corpus, f"Indexing {corpus.domain}", total=len(corpus)))
        ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in found] for found in words(texts, settings)]
        if not vocabulary:
            raise ConfigError(f"the passages of {corpus.domain!r} hold no word that could be searched for")
        index = bm25s.BM25(method=settings.method, k1=settings.k1, b=settings.b, delta=settings.delta)
        index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        index.save(folder)

    def search(self, texts: Sequence[str], weights: Sequence[float], k: int) -> list[tuple[int, float]]:
        """Weighted queries -> at most k (position, summed score), best first; equal scores by position."""
        total = self.scores(texts, weights)
        return [(int(position), float(total[position])) for position in _top(total, k)]

    def scores(self, texts: Sequence[str], weights: Sequence[float]) -> NDArray[np.float64]:
        """Weighted queries -> the summed score of each passage."""
        total = np.zeros(self._index.scores["num_docs"])
        for found, weight in zip(words(texts, self.settings), weights, strict=True):
            if ids := self._index.get_tokens_ids(found):
                total += weight * self._index.get_scores_from_ids(ids).astype(np.float64)
        return total


def words(texts: Iterable[str], settings: BM25Settings) -> Iterator[list[str]]:
    """The words of each text by which passages and queries meet, in order, repeated ones included."""
    stemmer = Stemmer.Stemmer("english") if settings.stemmer == "english" else None  # not thread-safe, but cheap
    stopwords = settings.stopwords if settings.stopwords == "english" else []
    for text in texts:
        yield bm25s.tokenize(text, stopwords=stopwords, stemmer=stemmer, return_ids=False, show_progress=False)[0]


def _top(scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The positions of the k largest positive scores, in falling order, ties by position."""
    found = np.flatnonzero(scores > 0)
    if len(found) > k:
        least = np.partition(scores[found], -k)[-k]
        found = found[scores[found] >= least]
    order = np.argsort(-scores[found], kind="stable")
    return found[order][:k].astype(np.int64)
