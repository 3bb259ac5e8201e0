"""The BM25 index of one domain: kept on disk, and memory-mapped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag.sdk.words import stem_words
from convrag_retrieval.postings import Postings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from convrag_retrieval.bm25 import BM25Settings

WORDS = "words.json"
"""The words of an index, by number: a file of every index."""

_WORD = re.compile(r"(?u)\b\w\w+\b")  # as scikit-learn and bm25s split
_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
"""The stop words of Lucene's English analyzer."""
_STOPWORDS = frozenset(_LUCENE.split())


class BM25Index:
    """A saved index, memory-mapped and never written to: any number of threads and processes may search it.

    Args:
        folder: where `BM25Builder` saved it.
        settings: those that it was built with.
        size: the number of passages.
    """

    def __init__(self, folder: Path, settings: BM25Settings, size: int) -> None:
        self.settings = settings
        self.postings = Postings(folder, size)
        self._numbers = {word: number for number, word in enumerate(load_words(folder))}

    def search(self, texts: Sequence[str], weights: Sequence[float], k: int) -> list[tuple[int, float]]:
        """Search for weighted queries: at most k (position, summed score), best first, ties by position."""
        return self.postings.search(self._weigh_words(texts, weights), k)

    def score(self, texts: Sequence[str], weights: Sequence[float], positions: Sequence[int]) -> NDArray[np.float64]:
        """Score the passages at positions for weighted queries: (n,) sums of weight times score."""
        return self.postings.score(self._weigh_words(texts, weights), np.array(positions, dtype=np.int32))

    def _weigh_words(self, texts: Sequence[str], weights: Sequence[float]) -> dict[int, float]:
        """Add up the weights of the words of queries: number -> weight."""
        words: dict[int, float] = {}
        for found, weight in zip(tokenize(texts, self.settings), weights, strict=True):
            for word in found:
                if (number := self._numbers.get(word)) is not None:
                    words[number] = words.get(number, 0.0) + weight
        return words


def load_words(folder: Path) -> list[str]:
    """Load the words of an index, by number."""
    words: list[str] = json.loads((folder / WORDS).read_text(encoding="utf-8"))
    return words


def tokenize(texts: Iterable[str], settings: BM25Settings) -> Iterator[list[str]]:
    """Yield the words of each text, of passages and queries alike, in order, repeated ones included."""
    dropped = _STOPWORDS if settings.stopwords == "english" else frozenset()
    for text in texts:
        words = [word for word in _WORD.findall(text.lower()) if word not in dropped]
        yield stem_words(words) if settings.stemmer == "english" else words
