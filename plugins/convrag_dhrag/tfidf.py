"""TF-IDF over texts that are added and removed: the weights are always those of the texts at present."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

AUXILIARIES = frozenset(
    """
    did does doing don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn ain ll ve re
    """.split()  # noqa: SIM905
)
"""Stop words that scikit-learn's English list lacks: forms of "do", and the parts of contractions."""


class Terms(NamedTuple):
    """The terms of one text: their columns, and 1 + log of how often each occurs."""

    columns: NDArray[np.int64]
    weights: NDArray[np.float64]


class WeightedTexts(NamedTuple):
    """N unit rows in coordinate form: for each entry its row (`owners`, rising), its column and its value."""

    n: int
    owners: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


class IncrementalTfidf:
    """TF-IDF of words and pairs of words, without English stop words.

    The time to add or remove a text grows with its length, that of `weigh` with the length of all texts given. A term's
    column is its place in the order of first appearance.
    """

    def __init__(self) -> None:
        self.texts = 0
        self._vocabulary: dict[str, int] = {}
        self._frequency = np.zeros(1024, dtype=np.int64)

    def add(self, text: str) -> Terms:
        """Add a text."""
        counts = Counter(_analyser()(text))
        columns = np.array([self._vocabulary.setdefault(term, len(self._vocabulary)) for term in counts], np.int64)
        while len(self._vocabulary) > len(self._frequency):
            self._frequency = np.concatenate([self._frequency, np.zeros_like(self._frequency)])
        self._frequency[columns] += 1
        self.texts += 1
        return Terms(columns, 1 + np.log(np.array(list(counts.values()), dtype=np.float64)))

    def remove(self, terms: Terms) -> None:
        """Remove a text that was added."""
        self._frequency[terms.columns] -= 1
        self.texts -= 1

    def weigh(self, texts: Sequence[Terms]) -> WeightedTexts:
        """The TF-IDF weights of texts that were added, by the document frequencies at present."""
        columns = np.concatenate([np.zeros(0, np.int64), *(text.columns for text in texts)])
        values = np.concatenate([np.zeros(0), *(text.weights for text in texts)]) * self._idf()[columns]
        owners = np.repeat(np.arange(len(texts)), [len(text.columns) for text in texts])
        lengths = np.sqrt(np.bincount(owners, values**2, len(texts)))
        return WeightedTexts(len(texts), owners, columns, values / lengths[owners])

    def compute_similarities(self, texts: WeightedTexts, query: str) -> NDArray[np.float64]:
        """(n,) cosines of texts with a query; 0 where they share no term."""
        terms = (term for term in _analyser()(query) if term in self._vocabulary)
        known = Counter(term for term in terms if self._frequency[self._vocabulary[term]])
        columns = np.array([self._vocabulary[term] for term in known], np.int64)
        wanted = np.zeros(len(self._vocabulary))
        wanted[columns] = (1 + np.log(np.array(list(known.values()), np.float64))) * self._idf()[columns]
        if not (length := float(np.sqrt(np.square(wanted).sum()))):
            return np.zeros(texts.n)
        cosines: NDArray[np.float64] = np.bincount(texts.owners, texts.values * wanted[texts.columns], texts.n) / length
        return cosines

    def build_rows(self, texts: WeightedTexts) -> csr_matrix:
        """(n, d) unit rows, for comparing texts with one another; a text without terms is a zero row.

        The terms that only one text has share a column: this changes no angle between rows, nor between their means.
        """
        frequency = self._frequency[: len(self._vocabulary)]
        shared = frequency > 1
        number = np.cumsum(shared) - 1
        unshared = ~shared[texts.columns]
        lengths = np.sqrt(np.bincount(texts.owners[unshared], texts.values[unshared] ** 2, texts.n))
        owners, first = np.unique(texts.owners[unshared], return_index=True)
        merged = np.flatnonzero(unshared)[first]  # the entry of each text that stands for its unshared ones
        values, columns = texts.values.copy(), number[texts.columns]
        values[merged], columns[merged] = lengths[owners], number.max(initial=-1) + 1 + owners
        kept = ~unshared
        kept[merged] = True
        ends = np.cumsum([0, *np.bincount(texts.owners[kept], minlength=texts.n)])
        return csr_matrix((values[kept], columns[kept], ends), shape=(texts.n, number.max(initial=-1) + 1 + texts.n))

    def _idf(self) -> NDArray[np.float64]:
        frequency = self._frequency[: len(self._vocabulary)]
        idf: NDArray[np.float64] = np.log((1 + self.texts) / (1 + frequency)) + 1
        return idf


def list_stop_words() -> list[str]:
    """English words that do not tell what a text is about, sorted."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return sorted({*ENGLISH_STOP_WORDS, *AUXILIARIES})


@cache
def _analyser() -> Callable[[str], list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    analyse: Callable[[str], list[str]] = CountVectorizer(
        stop_words=list_stop_words(), ngram_range=(1, 2)
    ).build_analyzer()
    return analyse
