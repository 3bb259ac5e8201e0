"""Posting lists on disk: the weight of each word in its passages, and the search for the best."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Postings"]

_WEIGHTS = "weights.npy"
_POSITIONS = "positions.npy"
_STARTS = "starts.npy"
_LARGEST = "largest.npy"

_ROUNDING = 1e-9
"""More than twice the error of rounding in a sum of float64 numbers, as a share of the largest."""

_ALL = slice(None)
"""All places of a list."""

_LOOK_UP_COST = 8
"""The passages of a list that are added up in the time of looking one passage up in it."""


class _Term(NamedTuple):
    """A word of a query.

    Args:
        positions: the passages that have it, rising.
        weights: its weight in each of them.
        weight: its weight in the query.
        most: the most that it adds to a score; 0 for a word that lowers scores.
    """

    positions: NDArray[np.int32]
    weights: NDArray[np.float32]
    weight: float
    most: float

    def score(self, places: slice | NDArray[np.int64] = _ALL) -> NDArray[np.float64]:
        """Compute what the word adds to the scores of the passages at places in its list."""
        scores: NDArray[np.float64] = self.weights[places].astype(np.float64) * self.weight
        return scores


class Postings:
    """The postings of all words, memory-mapped and read-only: any number of threads may search.

    Args:
        folder: where `save` put them.
        size: the number of passages.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self._weights = _open_array(folder / _WEIGHTS)
        self._positions = _open_array(folder / _POSITIONS)
        self._starts = _open_array(folder / _STARTS)
        self._largest = _open_array(folder / _LARGEST)
        self._size = size

    @staticmethod
    def save(
        folder: Path,
        weights: NDArray[np.float32],
        positions: NDArray[np.int32],
        starts: NDArray[np.int64],
    ) -> None:
        """Save postings into a folder.

        Args:
            folder: an empty one.
            weights: (p,) the weight of a word in a passage, 0 or more, word by word.
            positions: (p,) the passage, rising within each word.
            starts: (words + 1,) where each word begins; each has a passage.
        """
        np.save(folder / _WEIGHTS, weights)
        np.save(folder / _POSITIONS, positions)
        np.save(folder / _STARTS, starts)
        np.save(folder / _LARGEST, np.maximum.reduceat(weights, starts[:-1]))

    @staticmethod
    def invert(
        folder: Path,
        positions: NDArray[np.int64],
        numbers: NDArray[np.int64],
        weights: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Save postings that are given passage by passage.

        Args:
            folder: an empty one.
            positions: (p,) the passage.
            numbers: (p,) the number of the word, any.
            weights: (p,) its weight in the passage, 0 or more.

        Returns:
            (words,) the numbers that occur, rising: a search asks for a word by its place among
            them.
        """
        order = np.lexsort((positions, numbers))
        words, starts = np.unique(numbers[order], return_index=True)
        ends = np.append(starts, len(order))
        Postings.save(folder, weights[order], positions[order].astype(np.int32), ends)
        return words

    def search(
        self, words: Mapping[int, float], k: int, among: NDArray[np.int64] | None = None
    ) -> list[tuple[int, float]]:
        """Search for the passages with the largest positive sums of weight times score of words.

        The words that can add most come first. As soon as k passages score more than all later
        words together could add, no other passage can be among the best (MaxScore, Turtle and Flood
        1995): the long lists of frequent words are only looked up for the passages that are left.
        The result is the same as that of summing up all words for all passages.

        Args:
            words: number of a word -> its weight in the query.
            k: how many, at least 1.
            among: the positions to search, rising; None for all.

        Returns:
            At most k (position, score), best first, ties by position.
        """
        if among is not None:
            return _rank(among, self.score(words, among), k)
        terms = self._find_terms(words)
        rests = np.cumsum([0.0, *(term.most for term in reversed(terms))])[::-1]
        rests = rests + _ROUNDING * rests[0]
        positions, scores, done, least = self._add_up(terms, rests, k)
        for term, rest in zip(terms[done:], rests[done + 1 :], strict=True):
            scores += _look_up(term, positions)
            least = _raise_least(least, scores, k)
            kept = scores >= least - rest
            positions, scores = positions[kept], scores[kept]
        return _rank(positions, scores, k)

    def score(
        self, words: Mapping[int, float], positions: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Score passages at any positions, (n,), exactly as `search` does; 0 without any word."""
        scores = np.zeros(len(positions))
        for term in self._find_terms(words):
            scores += _look_up(term, positions)
        return scores

    def _add_up(
        self, terms: list[_Term], rests: NDArray[np.float64], k: int
    ) -> tuple[NDArray[np.integer], NDArray[np.float64], int, float]:
        """Add up the scores of terms until no further passage can be among the best.

        Returns:
            The positions of passages that can, rising; their scores so far; the number of terms
            that were added; and a score that k passages reach.
        """
        sums = np.zeros(self._size)
        least = 0.0
        done = 0
        positions: NDArray[np.integer] = np.zeros(0, dtype=np.int64)
        for done, (term, rest) in enumerate(zip(terms, rests[1:], strict=True), 1):
            sums[term.positions] += term.score()
            if term.most:
                least = _raise_least(least, sums[term.positions], k)
            if least > rest or done == len(terms):
                positions = self._find_near(terms[:done], sums, least - rest)
                left = sum(len(other.positions) for other in terms[done:])
                if _LOOK_UP_COST * len(positions) <= left:
                    break
        return positions, sums[positions], done, least

    def _find_near(
        self, terms: Sequence[_Term], sums: NDArray[np.float64], least: float
    ) -> NDArray[np.integer]:
        """Find the passages, rising, whose sum is at least `least`.

        With short lists, only their passages are looked at.
        """
        if sum(len(term.positions) for term in terms) > self._size // 4:
            return np.flatnonzero(sums >= least)
        near = [term.positions[sums[term.positions] >= least] for term in terms]
        return np.unique(np.concatenate(near))

    def _find_terms(self, words: Mapping[int, float]) -> list[_Term]:
        """Find the terms of a query in the order in which they are summed.

        Terms that lower scores come first, then those that can add most.
        """
        terms = []
        for word, weight in sorted(words.items()):
            if weight:
                places = slice(self._starts[word], self._starts[word + 1])
                most = max(0.0, weight * float(self._largest[word]))
                terms.append(_Term(self._positions[places], self._weights[places], weight, most))
        return sorted(terms, key=lambda term: -term.most or -np.inf)


def _rank(
    positions: NDArray[np.integer], scores: NDArray[np.float64], k: int
) -> list[tuple[int, float]]:
    """Rank passages by their positive scores: at most k, ties by position, which rise."""
    found = scores > 0
    positions, scores = positions[found], scores[found]
    order = np.argsort(-scores, kind="stable")[:k]
    return list(zip(positions[order].tolist(), scores[order].tolist(), strict=True))


def _look_up(term: _Term, positions: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the scores of a term at positions; 0 for passages that lack it."""
    places = np.minimum(np.searchsorted(term.positions, positions), len(term.positions) - 1)
    return np.where(term.positions[places] == positions, term.score(places), 0.0)


def _raise_least(least: float, scores: NDArray[np.float64], k: int) -> float:
    """Return the k-th largest of the scores, or the score found before if that is larger."""
    scores = scores[scores >= least]
    if len(scores) < k:
        return least
    return max(least, float(np.partition(scores, -k)[-k]))


def _open_array(file: Path) -> NDArray[Any]:
    """Open an array that stays on disk."""
    return np.asarray(np.load(file, mmap_mode="r"))
