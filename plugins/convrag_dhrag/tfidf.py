"""TF-IDF over texts that come and go: nothing is fitted once, so that a late topic weighs as much as an early one."""

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
"""What scikit-learn's list of English stop words lacks: forms of "do", and what is left of contractions."""


class Terms(NamedTuple):
    """The terms of one text: their columns, and 1 + log of how often each occurs."""

    columns: NDArray[np.int64]
    weights: NDArray[np.float64]


class Weighed(NamedTuple):
    """N texts of unit length, entry by entry: whose it is (rising), its column, its weight."""

    n: int
    owners: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


class Vectoriser:
    """Words and pairs of words, without English stop words, weighted by how few of the texts have them.

    Adding or removing a text costs what that text is long; `weigh` weighs texts anew, and costs what they are long
    together. Columns are given in the order in which terms first came.
    """

    def __init__(self) -> None:
        self.texts = 0
        self._vocabulary: dict[str, int] = {}
        self._frequency = np.zeros(1024, dtype=np.int64)

    def add(self, text: str) -> Terms:
        """Take a text in."""
        counts = Counter(_analyse()(text))
        columns = np.array([self._vocabulary.setdefault(term, len(self._vocabulary)) for term in counts], np.int64)
        while len(self._vocabulary) > len(self._frequency):
            self._frequency = np.concatenate([self._frequency, np.zeros_like(self._frequency)])
        self._frequency[columns] += 1
        self.texts += 1
        return Terms(columns, 1 + np.log(np.array(list(counts.values()), dtype=np.float64)))

    def remove(self, terms: Terms) -> None:
        """Forget a text that was added."""
        self._frequency[terms.columns] -= 1
        self.texts -= 1

    def weigh(self, texts: Sequence[Terms]) -> Weighed:
        """The TF-IDF weights of added texts as of now."""
        columns = np.concatenate([np.zeros(0, np.int64), *(text.columns for text in texts)])
        values = np.concatenate([np.zeros(0), *(text.weights for text in texts)]) * self._idf()[columns]
        owners = np.repeat(np.arange(len(texts)), [len(text.columns) for text in texts])
        lengths = np.sqrt(np.bincount(owners, values**2, len(texts)))
        return Weighed(len(texts), owners, columns, values / lengths[owners])

    def similarities(self, texts: Weighed, query: str) -> NDArray[np.float64]:
        """(n,) cosines of texts with a query; 0 where they share no term."""
        terms = (term for term in _analyse()(query) if term in self._vocabulary)
        known = Counter(term for term in terms if self._frequency[self._vocabulary[term]])
        columns = np.array([self._vocabulary[term] for term in known], np.int64)
        wanted = np.zeros(len(self._vocabulary))
        wanted[columns] = (1 + np.log(np.array(list(known.values()), np.float64))) * self._idf()[columns]
        if not (length := float(np.sqrt(np.square(wanted).sum()))):
            return np.zeros(texts.n)
        cosines: NDArray[np.float64] = np.bincount(texts.owners, texts.values * wanted[texts.columns], texts.n) / length
        return cosines

    def rows(self, texts: Weighed) -> csr_matrix:
        """(n, d) unit rows, for comparing texts with one another; a text without a term is a zero row.

        All that only one text says is put into one column: the angles between rows, and between means of rows, stay.
        """
        frequency = self._frequency[: len(self._vocabulary)]
        shared = frequency > 1
        number = np.cumsum(shared) - 1
        alone = ~shared[texts.columns]
        own = np.sqrt(np.bincount(texts.owners[alone], texts.values[alone] ** 2, texts.n))
        speakers, first = np.unique(texts.owners[alone], return_index=True)
        carriers = np.flatnonzero(alone)[first]
        values, columns = texts.values.copy(), number[texts.columns]
        values[carriers], columns[carriers] = own[speakers], number.max(initial=-1) + 1 + speakers
        kept = ~alone
        kept[carriers] = True
        ends = np.cumsum([0, *np.bincount(texts.owners[kept], minlength=texts.n)])
        return csr_matrix((values[kept], columns[kept], ends), shape=(texts.n, number.max(initial=-1) + 1 + texts.n))

    def _idf(self) -> NDArray[np.float64]:
        frequency = self._frequency[: len(self._vocabulary)]
        idf: NDArray[np.float64] = np.log((1 + self.texts) / (1 + frequency)) + 1
        return idf


def stop_words() -> list[str]:
    """English words that say nothing about what a text is about."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return sorted({*ENGLISH_STOP_WORDS, *AUXILIARIES})


@cache
def _analyse() -> Callable[[str], list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    analyse: Callable[[str], list[str]] = CountVectorizer(stop_words=stop_words(), ngram_range=(1, 2)).build_analyzer()
    return analyse
