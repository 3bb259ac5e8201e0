"""Posting lists: the weight of each word in the passages that have it, on disk, and the search for
the best sums.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Postings"]

_WEIGHTS, _POSITIONS, _STARTS, _LARGEST = (
    "weights.npy",
    "positions.npy",
    "starts.npy",
    "largest.npy",
)
_ROUNDING = 1e-9
"""Twice what rounding can change a sum of float64 numbers by, as a share of the largest sum, and
more.
"""
_ALL = slice(None)
_FEW = 8
"""Looking a passage up in the list of a word takes as long as adding up so many passages of the
list.
"""


class _Term(NamedTuple):
    """A word of a query."""

    positions: NDArray[np.int32]
    """The passages that have it, rising."""
    weights: NDArray[np.float32]
    """Its weight in each of them."""
    weight: float
    """That of the query."""
    most: float
    """The most that it adds to a score; 0 for a word that lowers scores."""

    def score(self, places: slice | NDArray[np.int64] = _ALL) -> NDArray[np.float64]:
        """Score the passages at places in the list: what the word adds to each."""
        scores: NDArray[np.float64] = self.weights[places].astype(np.float64) * self.weight
        return scores


class Postings:
    """The postings of all words, memory-mapped and never written to: any number of threads may
    search them.

    Args:
        folder: where `save` put them.
        size: the number of passages.
    """

    def __init__(self, folder: Path, size: int) -> None:
        files = (
            np.load(folder / name, mmap_mode="r")
            for name in (_WEIGHTS, _POSITIONS, _STARTS, _LARGEST)
        )
        self._weights, self._positions, self._starts, self._largest = (
            np.asarray(array) for array in files
        )
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
        Postings.save(
            folder, weights[order], positions[order].astype(np.int32), np.append(starts, len(order))
        )
        return words

    def search(self, words: Mapping[int, float], k: int) -> list[tuple[int, float]]:
        """Search for the passages with the largest positive sums of weight times score of words.

        The words that can add most come first. As soon as k passages score more than all words to
        come could add, no other passage can be among the best (MaxScore, Turtle and Flood 1995):
        the long lists of frequent words are only looked up for the passages that are left. The
        result is as if all words were summed up for all passages.

        Args:
            words: number of a word -> its weight in the query.
            k: how many, at least 1.

        Returns:
            At most k (position, score), best first, ties by position.
        """
        terms = self._find_terms(words)
        rests = np.cumsum([0.0, *(term.most for term in reversed(terms))])[::-1]
        rests = rests + _ROUNDING * rests[0]
        positions, scores, done, least = self._add_up(terms, rests, k)
        for term, rest in zip(terms[done:], rests[done + 1 :], strict=True):
            scores += _look_up(term, positions)
            least = _raise_least(least, scores, k)
            kept = scores >= least - rest
            positions, scores = positions[kept], scores[kept]
        found = scores > 0
        positions, scores = positions[found], scores[found]
        order = np.argsort(-scores, kind="stable")[:k]
        return list(zip(positions[order].tolist(), scores[order].tolist(), strict=True))

    def score(
        self, words: Mapping[int, float], positions: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Score passages at any positions, (n,), exactly as `search` does; 0 for those without any
        of the words.
        """
        scores = np.zeros(len(positions))
        for term in self._find_terms(words):
            scores += _look_up(term, positions)
        return scores

    def _add_up(
        self, terms: list[_Term], rests: NDArray[np.float64], k: int
    ) -> tuple[NDArray[np.integer], NDArray[np.float64], int, float]:
        """Add up the scores of terms until no further passage can be among the best.

        Returns:
            Positions of those that can, rising, their scores so far, how many terms were added, and
            a score that k passages reach.
        """
        sums = np.zeros(self._size)
        least, done = 0.0, 0
        positions: NDArray[np.integer] = np.zeros(0, dtype=np.int64)
        for done, (term, rest) in enumerate(zip(terms, rests[1:], strict=True), 1):
            sums[term.positions] += term.score()
            if term.most:
                least = _raise_least(least, sums[term.positions], k)
            if least > rest or done == len(terms):
                positions = self._find_near(terms[:done], sums, least - rest)
                if _FEW * len(positions) <= sum(len(term.positions) for term in terms[done:]):
                    break
        return positions, sums[positions], done, least

    def _find_near(
        self, terms: Sequence[_Term], sums: NDArray[np.float64], least: float
    ) -> NDArray[np.integer]:
        """The passages, rising, whose sum is at least so much: among those of short lists, or among
        all.
        """
        if sum(len(term.positions) for term in terms) > self._size // 4:
            return np.flatnonzero(sums >= least)
        return np.unique(
            np.concatenate([term.positions[sums[term.positions] >= least] for term in terms])
        )

    def _find_terms(self, words: Mapping[int, float]) -> list[_Term]:
        """Find the terms of a query in the order in which they are summed: first those that lower
        scores, if any.
        """
        terms = []
        for word, weight in sorted(words.items()):
            if weight:
                start, end = self._starts[word], self._starts[word + 1]
                most = max(0.0, weight * float(self._largest[word]))
                terms.append(
                    _Term(self._positions[start:end], self._weights[start:end], weight, most)
                )
        return sorted(terms, key=lambda term: -term.most or -np.inf)


def _look_up(term: _Term, positions: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the scores of a term at positions; 0 for passages that lack it."""
    places = np.minimum(np.searchsorted(term.positions, positions), len(term.positions) - 1)
    return np.where(term.positions[places] == positions, term.score(places), 0.0)


def _raise_least(least: float, scores: NDArray[np.float64], k: int) -> float:
    """Return the k-th largest of the scores, where it is larger than one that was found before."""
    scores = scores[scores >= least]
    return max(least, float(np.partition(scores, -k)[-k])) if len(scores) >= k else least
