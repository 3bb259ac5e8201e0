"""The dynamic database of a conversation: (query, passage, response) triples that come with each turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convrag import Embedder, Turn
from convrag_dhrag.chains import continued
from convrag_dhrag.scoring import recencies
from convrag_dhrag.tfidf import Terms, Vectoriser

_DIGITS = 6  # of similarities: what is beyond differs between machines and decides nothing


@dataclass(frozen=True, slots=True, eq=False)
class Triple:
    """An exchange of the history: its place (from 0), its terms, the vector of what was said, and its chain."""

    number: int
    turn: Turn
    terms: Terms
    vector: NDArray[np.float32]
    chain: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many triples are kept, and how much relevance counts against recency for what stays."""

    capacity: int
    alpha: float


class Database:
    """The triples of one conversation, oldest first. All of it follows from the turns and the order they came in.

    Args:
        embedder: embeds each text once.
        threshold: the least similarity with the last link of a chain that is continued.
        bounds: how many triples are kept, and which; None keeps all.
    """

    def __init__(self, embedder: Embedder, threshold: float, bounds: Bounds | None = None) -> None:
        self.triples: list[Triple] = []
        self.chains: list[int] = []
        """The chain of every turn that ever came, whether it is still here or not."""
        self.vectoriser = Vectoriser()
        self._embedder = embedder
        self._threshold = threshold
        self._bounds = bounds
        self._turns: tuple[Turn, ...] = ()

    def follow(self, history: tuple[Turn, ...]) -> bool:
        """Add what is new in a history; False where it is no continuation of what was added before."""
        known = len(self._turns)
        if history[:known] != self._turns:
            return False
        for turn in history[known:]:
            self._add(turn)
            self._turns = (*self._turns, turn)
        return True

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n,) cosines of the triples with a vector."""
        return _cosines(self.triples, vector)

    def chain(self, similarities: NDArray[np.float64]) -> int:
        """The chain of a turn with these similarities: one that it continues, or a new number."""
        chain = continued(similarities, [triple.chain for triple in self.triples], self._threshold)
        return max(self.chains, default=-1) + 1 if chain is None else chain

    def _add(self, turn: Turn) -> None:
        vector = self._vector(turn)
        chain = self.chain(self.similarities(vector))
        self.triples.append(Triple(len(self._turns), turn, self.vectoriser.add(matched_text(turn)), vector, chain))
        self.chains.append(chain)
        if self._bounds and len(self.triples) > self._bounds.capacity:
            self._drop(self._bounds.alpha)

    def _drop(self, alpha: float) -> None:
        """The paper's updating: the triple with the least weight leaves, weighed against the exchange that came."""
        relevance = np.clip(self.similarities(self.triples[-1].vector), 0, 1)
        recency = recencies([triple.number for triple in self.triples])
        weights = [alpha * near + (1 - alpha) * new for near, new in zip(relevance, recency, strict=True)]
        weights[-1] = np.inf  # what was just said stays, also where it has no vector
        self.vectoriser.remove(self.triples.pop(int(np.argmin(weights))).terms)

    def _vector(self, turn: Turn) -> NDArray[np.float32]:
        """One text at a time: a model may round differently in other company, and a rebuilt database is the same."""
        for triple in self.triples:
            if _spoken(triple.turn) == _spoken(turn):
                return triple.vector
        vector: NDArray[np.float32] = self._embedder.embed([_spoken(turn)])[0]
        return vector


def matched_text(turn: Turn) -> str:
    """What words are looked up in: the query, the response, and the first passage that the response rests on."""
    return "\n".join([turn.question, turn.answer, *(passage.content for passage in turn.passages[:1])])


def _spoken(turn: Turn) -> str:
    return f"{turn.question}\n{turn.answer}".strip()


def _cosines(triples: list[Triple], vector: NDArray[np.float32]) -> NDArray[np.float64]:
    if not triples:
        return np.zeros(0)
    rows = np.stack([triple.vector for triple in triples]).astype(np.float64)
    cosines: NDArray[np.float64] = np.round(np.einsum("ij,j->i", rows, vector.astype(np.float64)), _DIGITS)
    return cosines
