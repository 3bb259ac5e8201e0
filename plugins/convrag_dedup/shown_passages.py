"""Which passages a conversation has shown, under which ids and with which contents, and which are
nearly alike.
"""

import re
from typing import Generic, TypeVar

from convrag import Passage, Turn
from convrag.sdk.llm.history import HistoryReader
from convrag_dedup.deduplication import normalise_id

T = TypeVar("T")


class ShownVersions(Generic[T]):
    """What was shown under each normalised id: an entry for each content, since a document may change.

    A content is anything that tells texts apart (the text, or a hash of it). None stands for any
    content.
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
        return (
            self.find_last(key, None)
            if content is None
            else self._versions.get(key, {}).get(content)
        )

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


class ShownPassages(HistoryReader):
    """The passages that a history has shown, by id and content, by position and, if wanted, by likeness.

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
        """The position (from 0) at which the conversation first showed a passage of this id; None
        for a new one.
        """
        return self._positions.get(normalise_id(passage.id))

    def find_same(self, passage: Passage, *, compare_content: bool) -> Passage | None:
        """The earlier passage of the same id: with the same content, or else the one shown last."""
        return self._versions.find(
            normalise_id(passage.id), passage.content if compare_content else None
        )

    def find_near_duplicate(self, passage: Passage) -> Passage | None:
        """The earlier passage of another id that is most like this one, if any is similar enough."""
        return self._near_duplicates.find(passage) if self._near_duplicates is not None else None

    def has_one_version(self, passage: Passage) -> bool:
        """Whether only one content was shown under the passage's id, so that the id alone names it."""
        return self._versions.count(normalise_id(passage.id)) == 1

    def _add(self, passage: Passage) -> None:
        key = normalise_id(passage.id)
        self._positions.setdefault(key, len(self._positions))
        is_new = self._versions.find(key, passage.content) is None
        self._versions.add(key, passage.content, passage)
        if is_new and self._near_duplicates is not None:
            self._near_duplicates.add(passage)


# Words in a shingle: enough for word order to count, few enough that one changed word costs only
# three
_WIDTH = 3
_WORD = re.compile(r"\w+")


class NearDuplicates:
    """Passages by their shingles (three consecutive words), compared by the Jaccard likeness of these.

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
        """The passage of another id with the highest likeness, if that is high enough; of equals
        the first.
        """
        key, wanted = normalise_id(passage.id), _list_shingles(passage.text)
        others = [
            (_jaccard(wanted, own), other)
            for other, own in self._known
            if normalise_id(other.id) != key
        ]
        likeness, best = max(others, key=lambda each: each[0], default=(0.0, None))
        return best if likeness >= self._likeness else None


def _list_shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower()) or [text.strip()]
    last = max(len(words) - _WIDTH, 0)
    return frozenset(" ".join(words[start : start + _WIDTH]) for start in range(last + 1))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
