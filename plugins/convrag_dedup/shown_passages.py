"""The passages that a conversation has shown, by id, content, position and likeness."""

from typing import Generic, TypeVar

from convrag import Passage, Turn
from convrag.sdk.llm.history import HistoryReader
from convrag.sdk.text.analysis import split_words
from convrag_dedup.deduplication import normalise_id

T = TypeVar("T")


class ShownVersions(Generic[T]):
    """The entries that were shown under each normalised id, one for each content of a document.

    A content is anything that tells texts apart (the text, or a hash of it). None stands for any
    content.
    """

    def __init__(self) -> None:
        self._versions: dict[str, dict[str | bytes | None, T]] = {}

    def add(self, key: str, content: str | bytes | None, entry: T) -> None:
        """Note that a content was shown, after all others of its id."""
        versions = self._versions.setdefault(key, {})
        versions.pop(content, None)
        versions[content] = entry

    def find(self, key: str, content: str | bytes | None) -> T | None:
        """Find the entry with this content; with content None, the one shown last."""
        if content is None:
            return self.find_last(key, None)
        return self._versions.get(key, {}).get(content)

    def find_last(self, key: str, content: str | bytes | None) -> T | None:
        """Find the entry shown last, if it has this content: the id alone names only that one."""
        versions = self._versions.get(key)
        if not versions:
            return None
        last = next(reversed(versions))
        is_same = content is None or last is None or last == content
        return versions[last] if is_same else None

    def count(self, key: str) -> int:
        """Count the different contents that were shown under an id."""
        return len(self._versions.get(key, ()))


class ShownPassages(HistoryReader):
    """The passages that a history has shown, by id and content, position and likeness.

    Args:
        likeness: the least Jaccard likeness (0 to 1) of near-duplicates; None finds none.
    """

    def __init__(self, likeness: float | None = None) -> None:
        self._near_duplicates = None if likeness is None else NearDuplicates(likeness)
        self._versions: ShownVersions[Passage] = ShownVersions()
        self._positions: dict[str, int] = {}

    def add(self, turn: Turn) -> None:
        """Add the passages of a turn."""
        for passage in turn.passages:
            if passage.text.strip():
                self._add(passage)

    def position(self, passage: Passage) -> int | None:
        """Return the position (from 0) at which the conversation first showed a passage's id.

        None for a new one.
        """
        return self._positions.get(normalise_id(passage.id))

    def find_same(self, passage: Passage, *, compare_content: bool) -> Passage | None:
        """Find the earlier passage of the same id.

        Args:
            passage: the passage.
            compare_content: whether it must have the same content; otherwise it is the one shown
                last.
        """
        content = passage.content if compare_content else None
        return self._versions.find(normalise_id(passage.id), content)

    def find_near_duplicate(self, passage: Passage) -> Passage | None:
        """Find the earlier passage of another id that is most like this one, if it is enough."""
        if self._near_duplicates is None:
            return None
        return self._near_duplicates.find(passage)

    def has_one_version(self, passage: Passage) -> bool:
        """Whether only one content was shown under the passage's id, so that this names it."""
        return self._versions.count(normalise_id(passage.id)) == 1

    def _add(self, passage: Passage) -> None:
        key = normalise_id(passage.id)
        self._positions.setdefault(key, len(self._positions))
        is_new = self._versions.find(key, passage.content) is None
        self._versions.add(key, passage.content, passage)
        if is_new and self._near_duplicates is not None:
            self._near_duplicates.add(passage)


_SHINGLE_WORDS = 3
"""Words of a shingle: the order of words counts, and a changed word costs three shingles only."""


class NearDuplicates:
    """Passages that are compared by the Jaccard likeness of their shingles (three words each).

    Args:
        likeness: the least likeness of near-duplicates, above 0 and at most 1.
    """

    def __init__(self, likeness: float) -> None:
        self._likeness = likeness
        self._known: list[tuple[Passage, frozenset[str]]] = []

    def add(self, passage: Passage) -> None:
        """Add a passage."""
        self._known.append((passage, _list_shingles(passage.text)))

    def find(self, passage: Passage) -> Passage | None:
        """Find the passage of another id with the highest likeness, if that is high enough.

        The first one wins a tie.
        """
        key = normalise_id(passage.id)
        shingles = _list_shingles(passage.text)
        best = None
        highest = 0.0
        for other, other_shingles in self._known:
            if normalise_id(other.id) == key:
                continue
            likeness = _jaccard(shingles, other_shingles)
            if likeness >= self._likeness and likeness > highest:
                best = other
                highest = likeness
        return best


def _list_shingles(text: str) -> frozenset[str]:
    words = split_words(text) or (text.strip(),)
    last = max(len(words) - _SHINGLE_WORDS, 0)
    return frozenset(" ".join(words[start : start + _SHINGLE_WORDS]) for start in range(last + 1))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
