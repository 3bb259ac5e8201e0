"""TF-IDF rows of the history's triples, and their clusters, by scikit-learn."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array, hstack
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

AUXILIARIES = frozenset(
    """
    did does doing don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn ain ll ve re
    """.split()  # noqa: SIM905
)
"""Stop words that scikit-learn's English list lacks: forms of "do", and the parts of contractions."""

STARTS = 2
ROUNDS = 10
_SEED = 0

_single_threaded = threading.Lock()
"""Held during a fit, in which the numerical libraries run in one thread: several would add up in any order, and wait
for each other longer than they compute. The limit holds for the whole process: two fits would undo each other's."""


class Terms(NamedTuple):
    """The terms of one text: their columns, and how often each occurs."""

    columns: NDArray[np.int64]
    counts: NDArray[np.float64]


class Vocabulary:
    """Words and pairs of words, without English stop words. A term's column is its place in order of appearance."""

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}

    def add(self, text: str) -> Terms:
        """Count the terms of a text; new ones are added."""
        counts = Counter(_build_analyser()(text))
        columns = [self._columns.setdefault(term, len(self._columns)) for term in counts]
        return Terms(np.array(columns, np.int64), np.array(list(counts.values()), np.float64))

    def weigh(self, texts: Sequence[Terms], query: str) -> tuple[csr_matrix, NDArray[np.float64]]:
        """Weigh the terms of texts by TF-IDF, with 1 + log of how often each occurs.

        Args:
            texts: n texts that were added; they determine the document frequencies.
            query: a text that is compared with them. Terms that none of them has do not count.

        Returns:
            (n, d) unit rows, zero for a text without terms; and their (n,) cosines with the query.
        """
        transformer = TfidfTransformer(sublinear_tf=True)
        counts = self._stack(texts)
        rows: csr_matrix = transformer.fit_transform(counts)
        known = set(counts.indices.tolist())
        asked = Counter(self._columns.get(term, -1) for term in _build_analyser()(query))
        columns = np.array([column for column in asked if column in known], np.int64)
        terms = Terms(columns, np.array([asked[column] for column in columns.tolist()], np.float64))
        return rows, (rows @ transformer.transform(self._stack([terms])).T).toarray().ravel()

    def _stack(self, texts: Sequence[Terms]) -> csr_matrix:
        """(n, d) counts of the n texts."""
        columns, counts = (np.concatenate([np.zeros(0), *parts]) for parts in zip(*texts, strict=True))
        ends = np.cumsum([0, *(len(text.columns) for text in texts)])
        return csr_matrix((counts, columns.astype(np.int32), ends), shape=(len(texts), max(len(self._columns), 1)))


def cluster_rows(rows: csr_matrix, k: int) -> list[list[int]]:
    """Group unit rows by k-means into at most k clusters, fewer where fewer rows differ. A zero row is in none.

    Returns:
        The positions in each cluster, in order of first appearance. They depend on the rows alone.
    """
    spans = list(pairwise(rows.indptr.tolist()))
    filled = [position for position, (start, end) in enumerate(spans) if start < end]
    distinct = {
        (rows.indices[start:end].tobytes(), rows.data[start:end].tobytes()) for start, end in spans if start < end
    }
    k = min(k, len(distinct))
    if k < 2:
        return [filled] if filled else []
    model = KMeans(k, n_init=STARTS, max_iter=ROUNDS, random_state=_SEED)
    with _single_threaded, _find_thread_pools().limit(limits=1):
        labels = model.fit_predict(_merge_unshared(rows[filled])).tolist()
    groups: dict[int, list[int]] = {}
    for position, label in zip(filled, labels, strict=True):
        groups.setdefault(label, []).append(position)
    return list(groups.values())


def _merge_unshared(rows: csr_matrix) -> csr_matrix:
    """Unit rows in which the terms that a single row has share a column: no distance changes, and few columns stay."""
    shared = rows[:, np.bincount(rows.indices, minlength=rows.shape[1]) > 1]
    rest = np.sqrt(np.clip(1 - np.asarray(shared.multiply(shared).sum(axis=1)).ravel(), 0, 1))
    return csr_matrix(hstack([shared, diags_array(rest)]))


def list_stop_words() -> list[str]:
    """English words that do not tell what a text is about, sorted."""
    return sorted({*ENGLISH_STOP_WORDS, *AUXILIARIES})


@cache
def _build_analyser() -> Callable[[str], list[str]]:
    vectorizer = CountVectorizer(stop_words=list_stop_words(), ngram_range=(1, 2))
    analyse: Callable[[str], list[str]] = vectorizer.build_analyzer()
    return analyse


@cache
def _find_thread_pools() -> ThreadpoolController:
    return ThreadpoolController()
