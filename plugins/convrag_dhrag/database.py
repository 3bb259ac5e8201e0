"""The dynamic database of a conversation's history: (query, passage, response) triples and the chains they form."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convrag import Embedder, Turn
from convrag_dhrag.tfidf import Terms, Vocabulary

_DIGITS = 6  # of similarities: later digits differ between machines, and should not decide anything


@dataclass(frozen=True, slots=True, eq=False)
class Triple:
    """A turn of the history: its number (from 0), its terms, the vector of its exchange, and its chain."""

    number: int
    turn: Turn
    terms: Terms
    vector: NDArray[np.float32]
    chain: int


class HistoryDatabase:
    """The triples of one conversation, oldest first. They depend on the turns and their order alone.

    Args:
        embedder: embeds each exchange once.
        threshold: the least similarity of a turn with the last turn of a chain that it continues.
        capacity: how many triples are kept; None keeps all.
        alpha: the weight of relevance against recency in the choice of those.
        vectors: exchange -> vector of those that were embedded before; new ones are added. A database that is built
            again embeds nothing twice.
    """

    def __init__(
        self,
        embedder: Embedder,
        threshold: float,
        capacity: int | None = None,
        alpha: float = 0.6,
        vectors: MutableMapping[str, NDArray[np.float32]] | None = None,
    ) -> None:
        self.triples: list[Triple] = []
        self.chains: list[int] = []
        """The chain of every turn of the history, also of those whose triples were dropped."""
        self.vocabulary = Vocabulary()
        self._embedder = embedder
        self._threshold = threshold
        self._capacity = capacity
        self._alpha = alpha
        self._vectors = {} if vectors is None else vectors
        self._turns: tuple[Turn, ...] = ()

    def add_history(self, history: tuple[Turn, ...]) -> bool:
        """Add the new turns of a history; False where it does not continue the turns that were added before."""
        known = len(self._turns)
        if history[:known] != self._turns:
            return False
        for turn in history[known:]:
            self._add(turn)
            self._turns = (*self._turns, turn)
        return True

    def compute_similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n,) cosines of the n triples with a vector."""
        if not self.triples:
            return np.zeros(0)
        rows = np.stack([triple.vector for triple in self.triples]).astype(np.float64)
        cosines: NDArray[np.float64] = np.round(np.einsum("ij,j->i", rows, vector.astype(np.float64)), _DIGITS)
        return cosines

    def assign_chain(self, similarities: NDArray[np.float64]) -> int:
        """The chain of a turn with these (n,) similarities to the triples: one that it continues, or a new number."""
        chain = find_continued_chain(similarities, [triple.chain for triple in self.triples], self._threshold)
        return max(self.chains, default=-1) + 1 if chain is None else chain

    def _add(self, turn: Turn) -> None:
        vector = self._embed(turn)
        chain = self.assign_chain(self.compute_similarities(vector))
        self.triples.append(Triple(len(self._turns), turn, self.vocabulary.add(_text_of_triple(turn)), vector, chain))
        self.chains.append(chain)
        if self._capacity and len(self.triples) > self._capacity:
            self._drop_one()

    def _drop_one(self) -> None:
        """Drop the triple with the least weight, as the paper updates its database; the newest one stays.

        A triple's weight is alpha x relevance to the newest exchange + (1 - alpha) x recency.
        """
        relevance = np.clip(self.compute_similarities(self.triples[-1].vector), 0, 1)
        recency = compute_recencies([triple.number for triple in self.triples])
        weights = [self._alpha * near + (1 - self._alpha) * new for near, new in zip(relevance, recency, strict=True)]
        weights[-1] = np.inf  # it would be dropped where it has no vector
        del self.triples[int(np.argmin(weights))]

    def _embed(self, turn: Turn) -> NDArray[np.float32]:
        """The vector of a turn's exchange.

        Texts are embedded one at a time, since a model may round differently in a batch: a database that is built
        again must be equal.
        """
        text = _text_of_exchange(turn)
        if text not in self._vectors:
            self._vectors[text] = self._embedder.embed([text])[0]
        return self._vectors[text]


def find_continued_chain(similarities: NDArray[np.float64], chains: Sequence[int], threshold: float) -> int | None:
    """The chain of thought that a turn continues; None where it begins one.

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
    """Turn numbers, oldest first -> 0 for the oldest to 1 for the newest; 1 where there is only one."""
    oldest, newest = numbers[0], numbers[-1]
    return [(number - oldest) / (newest - oldest) if newest > oldest else 1.0 for number in numbers]


def _text_of_triple(turn: Turn) -> str:
    """The text that TF-IDF compares: the query, the response, and the first passage of the response's evidence."""
    return "\n".join([turn.question, turn.answer, *(passage.content for passage in turn.passages[:1])])


def _text_of_exchange(turn: Turn) -> str:
    """The text that is embedded: the query and the response."""
    return f"{turn.question}\n{turn.answer}".strip()
