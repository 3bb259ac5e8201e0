"""Which passages a conversation has shown, under which ids and with which contents, and which are nearly alike."""

import re
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

from convrag import Passage, Turn
from convrag.sdk.history import HistoryReader
from convrag_dedup.deduplication import normalise_id

T = TypeVar("T")


class ShownVersions(Generic[T]):
    """What was shown under each normalised id: an entry for each content, since a document may change.

    A content is anything that tells texts apart (the text, or a hash of it). None stands for any content.
    """

    def __init__(self) -> None:
        self._versions: dict[str, dict[str | bytes | None, T]] = {}

    def add(self, key: str, content: str | bytes | None, entry: T) -> None:
        """Note that a content was shown, after all others of its id."""
        if (versions := self._versions.get(key)) is None:
            self._versions[key] = {content: entry}
        else:
            versions.pop(content, None)
            versions[content] = entry

    def find(self, key: str, content: str | bytes | None) -> T | None:
        """The entry with this content; with content None, the one shown last."""
        return self.find_last(key, None) if content is None else self._versions.get(key, {}).get(content)

    def find_last(self, key: str, content: str | bytes | None) -> T | None:
        """The entry shown last, if it has this content: only that one is named by the id alone."""
        versions = self._versions.get(key)
        if not versions:
            return None
        last = next(reversed(versions))
        return versions[last] if content is None or last is None or last == content else None

    def count(self, key: str) -> int:
        """How many different contents were shown under an id."""
        return len(self._versions.get(key, ()))


class ShownPassage(NamedTuple):
    """A passage of the history, and the turns (from 0) in which it was first and last shown."""

    passage: Passage
    first: int
    last: int


class ShownPassages(HistoryReader):
    """The passages that a history has shown, by id and content, by position and, if wanted, by likeness.

    Args:
        likeness: the least Jaccard likeness (0 to 1) of near-duplicates; None finds none.
    """

    def __init__(self, likeness: float | None = None) -> None:
        self._near_duplicates = None if likeness is None else NearDuplicates(likeness)
        self._versions: ShownVersions[ShownPassage] = ShownVersions()
        self._positions: dict[str, int] = {}

    def add(self, turn: Turn) -> None:
        """Add the passages of a turn."""
        for passage in turn.passages:
            if passage.text.strip():
                self._add(passage, len(self.turns))

    def position(self, passage: Passage) -> int | None:
        """The position (from 0) at which the conversation first showed a passage of this id; None for a new one."""
        return self._positions.get(normalise_id(passage.id))

    def find_same(self, passage: Passage, *, compare_content: bool) -> ShownPassage | None:
        """The earlier passage of the same id: with the same content, or else the one shown last."""
        return self._versions.find(normalise_id(passage.id), passage.content if compare_content else None)

    def find_near_duplicate(self, passage: Passage) -> ShownPassage | None:
        """The earlier passage of another id that is most like this one, if any is similar enough."""
        found = self._near_duplicates.find(passage) if self._near_duplicates is not None else None
        return None if found is None else self._versions.find(normalise_id(found.id), found.content)

    def has_one_version(self, passage: Passage) -> bool:
        """Whether only one content was shown under the passage's id, so that the id alone names it."""
        return self._versions.count(normalise_id(passage.id)) == 1

    def _add(self, passage: Passage, turn: int) -> None:
        key = normalise_id(passage.id)
        self._positions.setdefault(key, len(self._positions))
        known = self._versions.find(key, passage.content)
        self._versions.add(key, passage.content, ShownPassage(passage, known.first if known else turn, turn))
        if known is None and self._near_duplicates is not None:
            self._near_duplicates.add(passage)


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
