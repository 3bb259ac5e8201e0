"""Near-duplicates of a passage: an exact search by Jaccard likeness, which misses none."""

from __future__ import annotations

import re
from hashlib import blake2b

from convrag import Passage
from convrag_dedup.deduplication import normalise_id

_WIDTH = 3  # words in a shingle: enough for word order to count, few enough that one changed word costs only three
_WORD = re.compile(r"\w+")


class NearDuplicates:
    """An index of passages by shingles (three consecutive words), for the Jaccard likeness of two texts.

    Two sets with a likeness of at least t share one of the first (1 - t)n + 1 of their n shingles in any fixed order
    (prefix filtering; Chaudhuri et al., ICDE 2006; Bayardo et al., WWW 2007). So only those are indexed, and the
    candidates that they give are compared in full. Nothing is sampled, so nothing depends on a random seed.

    Args:
        likeness: the least likeness of near-duplicates, above 0 and at most 1.
    """

    def __init__(self, likeness: float) -> None:
        self.likeness = likeness
        self._passages: list[Passage] = []
        self._sizes: list[int] = []
        self._index: dict[int, list[int]] = {}

    def add(self, passage: Passage) -> None:
        """Index a passage."""
        shingles = _shingles(passage.text)
        for shingle in self._prefix(shingles):
            self._index.setdefault(shingle, []).append(len(self._passages))
        self._passages.append(passage)
        self._sizes.append(len(shingles))

    def find(self, passage: Passage) -> Passage | None:
        """The passage of another id with the highest likeness, if that is high enough; of equals the first."""
        wanted = _shingles(passage.text)
        candidates = {number for shingle in self._prefix(wanted) for number in self._index.get(shingle, ())}
        best, found = 0.0, None
        for number in sorted(candidates):
            other = self._passages[number]
            similar_size = self.likeness * len(wanted) <= self._sizes[number] <= len(wanted) / self.likeness
            if not similar_size or normalise_id(other.id) == normalise_id(passage.id):
                continue
            likeness = _jaccard(wanted, _shingles(other.text))
            if likeness >= self.likeness and likeness > best:
                best, found = likeness, other
        return found

    def _prefix(self, shingles: frozenset[int]) -> list[int]:
        """The shingles to index, smallest hash first."""
        kept = int((1 - self.likeness) * len(shingles) + 1e-9) + 1
        return sorted(shingles)[:kept]


def _shingles(text: str) -> frozenset[int]:
    words = _WORD.findall(text.lower()) or [text.strip()]
    last = max(len(words) - _WIDTH, 0)
    return frozenset(_hash(" ".join(words[start : start + _WIDTH])) for start in range(last + 1))


def _hash(shingle: str) -> int:
    return int.from_bytes(blake2b(shingle.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
