"""Merges near-duplicate nuggets. A merged nugget keeps the places of all nuggets that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from convrag import Nugget
from convrag.sdk.words import split_words
from convrag_ginger.tokens import find_numbers_and_negations, stem_content


@dataclass(frozen=True)
class MergedNugget:
    """Nuggets that say the same: the one that says most, and the positions of all of them in the original list."""

    nugget: Nugget
    members: tuple[int, ...]

    @property
    def text(self) -> str:
        """The text of the nugget that says most, on one line."""
        return " ".join(self.nugget.text.split())


def merge_duplicates(nuggets: Sequence[Nugget], threshold: float) -> list[MergedNugget]:
    """Merge each nugget into the longest one that contains it; the result is in order of first appearance.

    A nugget contains another one if that stands in it literally. Otherwise, the other's content words must occur in it
    in the same order, make up at least a share of `threshold` of its content words, and both must have the same
    numbers and negations.
    """
    keys = [_ComparisonKey(nugget.text, threshold) for nugget in nuggets]
    longest_first = sorted(range(len(nuggets)), key=lambda index: (-len(keys[index].stems), -len(keys[index].text)))
    groups: dict[int, list[int]] = {}
    for index in longest_first:
        container = next((longer for longer in groups if keys[index].is_contained_in(keys[longer])), index)
        groups.setdefault(container, []).append(index)
    merged = [MergedNugget(nuggets[longest], tuple(sorted(members))) for longest, members in groups.items()]
    return sorted(merged, key=lambda each: each.members)


class _ComparisonKey:
    def __init__(self, text: str, threshold: float) -> None:
        self.text = f" {' '.join(split_words(text))} "
        self.stems = stem_content(text)
        self.numbers_and_negations = find_numbers_and_negations(text)
        self.threshold = threshold

    def is_contained_in(self, other: _ComparisonKey) -> bool:
        if self.text.strip() and self.text in other.text:
            return True
        if not self.stems or self.numbers_and_negations != other.numbers_and_negations:
            return False
        if len(self.stems) < self.threshold * len(other.stems):
            return False
        rest = iter(other.stems)
        return all(stem in rest for stem in self.stems)  # `in` consumes the iterator: the order must be the same
