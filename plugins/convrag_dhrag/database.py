"""The dynamic database of a history: triples of query, passage and response, and their chains."""

from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags_array, hstack
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from convrag import Embedder, Turn
from convrag.sdk.llm.history import HistoryReader
from convrag.sdk.text.analysis import Form, stem_content_words
from convrag.sdk.threads import limit_to_one_thread

STARTS = 2
ROUNDS = 10
_SEED = 0


class Terms(NamedTuple):
    """The terms of one text: their columns, and how often each occurs."""

    columns: NDArray[np.int64]
    counts: NDArray[np.float64]


class Vocabulary:
    """Words and pairs of words without stop words; their columns are in order of appearance.

    Args:
        words: "auto" has stems (`convrag.sdk.text.analysis`); "plain" English words, as
            scikit-learn splits texts.
    """

    def __init__(self, words: Form = "auto") -> None:
        self._columns: dict[str, int] = {}
        self._split = _split_plainly() if words == "plain" else _stem_terms

    def add(self, text: str) -> Terms:
        """Count the terms of a text; new ones are added."""
        counts = Counter(self._split(text))
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
        asked = Counter(self._columns.get(term, -1) for term in self._split(query))
        columns = np.array([column for column in asked if column in known], np.int64)
        terms = Terms(columns, np.array([asked[column] for column in columns.tolist()], np.float64))
        return rows, (rows @ transformer.transform(self._stack([terms])).T).toarray().ravel()

    def _stack(self, texts: Sequence[Terms]) -> csr_matrix:
        """Stack the counts of n texts, (n, d)."""
        columns, counts = (
            np.concatenate([np.zeros(0), *parts]) for parts in zip(*texts, strict=True)
        )
        ends = np.cumsum([0, *(len(text.columns) for text in texts)])
        return csr_matrix(
            (counts, columns.astype(np.int32), ends), shape=(len(texts), max(len(self._columns), 1))
        )


def cluster_rows(rows: csr_matrix, k: int) -> list[list[int]]:
    """Group unit rows by k-means into at most k clusters, fewer where fewer rows differ.

    A zero row is in no cluster.

    Returns:
        The positions in each cluster, in order of first appearance. They depend on the rows alone.
    """
    spans = list(pairwise(rows.indptr.tolist()))
    filled = [position for position, (start, end) in enumerate(spans) if start < end]
    distinct = {
        (rows.indices[start:end].tobytes(), rows.data[start:end].tobytes())
        for start, end in spans
        if start < end
    }
    k = min(k, len(distinct))
    if k < 2:
        return [filled] if filled else []
    model = KMeans(k, n_init=STARTS, max_iter=ROUNDS, random_state=_SEED)
    with limit_to_one_thread():
        labels = model.fit_predict(_merge_unshared(rows[filled])).tolist()
    groups: dict[int, list[int]] = {}
    for position, label in zip(filled, labels, strict=True):
        groups.setdefault(label, []).append(position)
    return list(groups.values())


def _merge_unshared(rows: csr_matrix) -> csr_matrix:
    """Merge the columns of terms that a single row has; distances stay, and few columns remain."""
    shared = rows[:, np.bincount(rows.indices, minlength=rows.shape[1]) > 1]
    rest = np.sqrt(np.clip(1 - np.asarray(shared.multiply(shared).sum(axis=1)).ravel(), 0, 1))
    return csr_matrix(hstack([shared, diags_array(rest)]))


def _stem_terms(text: str) -> list[str]:
    stems = stem_content_words(text)
    return [*stems, *map(" ".join, pairwise(stems))]


@cache
def _split_plainly() -> Callable[[str], list[str]]:
    split: Callable[[str], list[str]] = CountVectorizer(
        stop_words="english", ngram_range=(1, 2)
    ).build_analyzer()
    return split


_DIGITS = 6  # of similarities: later digits differ between machines, and should not decide anything


@dataclass(frozen=True, slots=True, eq=False)
class Triple:
    """A turn of the history: its number (from 0), terms, vector and chain."""

    number: int
    turn: Turn
    terms: Terms
    vector: NDArray[np.float32]
    chain: int


class HistoryDatabase(HistoryReader):
    """The triples of one conversation, oldest first.

    They depend on the turns and their order alone.

    Args:
        embedder: embeds each exchange once.
        threshold: the least similarity of a turn with the last turn of a chain that it continues.
        capacity: how many triples are kept; None keeps all.
        alpha: the weight of relevance against recency in the choice of those.
        vectors: exchange -> vector of those that were embedded before; new ones are added. A
            database that is built again embeds nothing twice.
        words: see `Vocabulary`.
    """

    def __init__(
        self,
        embedder: Embedder,
        threshold: float,
        capacity: int | None = None,
        alpha: float = 0.6,
        vectors: MutableMapping[str, NDArray[np.float32]] | None = None,
        words: Form = "auto",
    ) -> None:
        self.triples: list[Triple] = []
        self.chains: list[int] = []
        """The chain of every turn of the history, also of those whose triples were dropped."""
        self.vocabulary = Vocabulary(words)
        self._embedder = embedder
        self._threshold = threshold
        self._capacity = capacity
        self._alpha = alpha
        self._vectors = {} if vectors is None else vectors

    def compute_similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """Compute the (n,) cosines of the n triples with a vector."""
        if not self.triples:
            return np.zeros(0)
        rows = np.stack([triple.vector for triple in self.triples]).astype(np.float64)
        cosines: NDArray[np.float64] = np.round(
            np.einsum("ij,j->i", rows, vector.astype(np.float64)), _DIGITS
        )
        return cosines

    def assign_chain(self, similarities: NDArray[np.float64]) -> int:
        """Choose the chain of a turn with (n,) similarities to the triples: an old or a new one."""
        chain = find_continued_chain(
            similarities, [triple.chain for triple in self.triples], self._threshold
        )
        return max(self.chains, default=-1) + 1 if chain is None else chain

    def add(self, turn: Turn) -> None:
        """Add a turn, and drop one where there are too many."""
        vector = self._embed(turn)
        chain = self.assign_chain(self.compute_similarities(vector))
        self.triples.append(
            Triple(len(self.turns), turn, self.vocabulary.add(_text_of_triple(turn)), vector, chain)
        )
        self.chains.append(chain)
        if self._capacity and len(self.triples) > self._capacity:
            self._drop_one()

    def _drop_one(self) -> None:
        """Drop the triple with the least weight, as the paper does; the newest one stays.

        A triple's weight is alpha x relevance to the newest exchange + (1 - alpha) x recency.
        """
        relevance = np.clip(self.compute_similarities(self.triples[-1].vector), 0, 1)
        recency = compute_recencies([triple.number for triple in self.triples])
        weights = [
            self._alpha * near + (1 - self._alpha) * new
            for near, new in zip(relevance, recency, strict=True)
        ]
        weights[-1] = np.inf  # it would be dropped where it has no vector
        del self.triples[int(np.argmin(weights))]

    def _embed(self, turn: Turn) -> NDArray[np.float32]:
        """Embed a turn's exchange.

        Texts are embedded one at a time, since a model may round differently in a batch: a database
        that is built again must be equal.
        """
        text = _text_of_exchange(turn)
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed([text])[0]
        return self._vectors[text]


def find_continued_chain(
    similarities: NDArray[np.float64], chains: Sequence[int], threshold: float
) -> int | None:
    """Find the chain of thought that a turn continues; None where it begins one.

    Only the last turn of each chain is compared. Turns of other chains may lie between.

    Args:
        similarities: (n,) of the turn with the n earlier ones, oldest first.
        chains: the chains of the n earlier turns.
        threshold: the least similarity with the last turn of a chain.
    """
    last = {chain: index for index, chain in enumerate(chains)}
    index = max(last.values(), key=lambda index: (similarities[index], index), default=None)
    if index is None or similarities[index] < threshold:
        return None
    return chains[index]


def compute_recencies(numbers: Sequence[int]) -> list[float]:
    """Scale turn numbers, oldest first, from 0 for the oldest to 1 for the newest.

    A single turn has 1.
    """
    oldest, newest = numbers[0], numbers[-1]
    return [(number - oldest) / (newest - oldest) if newest > oldest else 1.0 for number in numbers]


def _text_of_triple(turn: Turn) -> str:
    """Return the text that TF-IDF compares: query, response, and the first passage of evidence."""
    return "\n".join(
        [turn.question, turn.answer, *(passage.content for passage in turn.passages[:1])]
    )


def _text_of_exchange(turn: Turn) -> str:
    """Return the text that is embedded: the query and the response."""
    return f"{turn.question}\n{turn.answer}".strip()
