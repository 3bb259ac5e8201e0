"""What a conversation has shown until now: an index over its history that grows with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convrag import Passage, Turn
from convrag_dedup.deduplication import normalised
from convrag_dedup.near_duplicates import NearDuplicates


class Shown(NamedTuple):
    """A passage of the history, and the turns (from 0) in which it was first and last shown."""

    passage: Passage
    first: int
    last: int


class Past:
    """The passages of a history by id, by content, by place and, where asked for, by likeness.

    Args:
        near: the likeness (0 to 1) from which two passages count as the same; None for none.
    """

    def __init__(self, near: float | None = None) -> None:
        self.near = None if near is None else NearDuplicates(near)
        self._turns = 0
        self._newest: Turn | None = None
        self._versions: dict[str, dict[str, Shown]] = {}
        self._places: dict[str, int] = {}

    def follow(self, history: Sequence[Turn]) -> bool:
        """Read the turns that are new; False where this is another history, and a new Past must read it."""
        if self._turns > len(history) or (self._turns and history[self._turns - 1] != self._newest):
            return False
        for number in range(self._turns, len(history)):
            for passage in history[number].passages:
                if passage.text.strip():
                    self._add(passage, number)
        self._turns = len(history)
        self._newest = history[-1] if history else None
        return True

    def place(self, passage: Passage) -> int | None:
        """The place at which the conversation first showed a passage of this id."""
        return self._places.get(normalised(passage.id))

    def same(self, passage: Passage, *, content: bool) -> Shown | None:
        """An earlier passage of the same id: with the same `content`, or whatever the last one said."""
        versions = self._versions.get(normalised(passage.id))
        if not versions:
            return None
        return versions.get(passage.content) if content else next(reversed(versions.values()))

    def alike(self, passage: Passage) -> Shown | None:
        """The earlier passage of another id that is most like this one, if one is enough so."""
        found = self.near.find(passage) if self.near is not None else None
        return None if found is None else self._versions[normalised(found.id)][found.content]

    def only_version(self, passage: Passage) -> bool:
        """Whether the conversation has shown the passage's id with one text only, so that the id names it."""
        return len(self._versions[normalised(passage.id)]) == 1

    def _add(self, passage: Passage, turn: int) -> None:
        key = normalised(passage.id)
        self._places.setdefault(key, len(self._places))
        versions = self._versions.setdefault(key, {})
        known = versions.pop(passage.content, None)
        versions[passage.content] = Shown(passage, known.first if known else turn, turn)
        if known is None and self.near is not None:
            self.near.add(passage)
