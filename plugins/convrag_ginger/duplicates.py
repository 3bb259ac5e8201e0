"""Nuggets that say the same become one finding, which keeps all the places where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from convrag import Nugget
from convrag_ginger.tokens import facts, stems, words


@dataclass(frozen=True)
class Finding:
    """Nuggets that say the same, by their positions in the list that they came from; `nugget` says most."""

    nugget: Nugget
    members: tuple[int, ...]

    @property
    def text(self) -> str:
        """The nugget's words on one line."""
        return " ".join(self.nugget.text.split())


def merged(nuggets: Sequence[Nugget], threshold: float) -> list[Finding]:
    """Put each nugget to the first one that says as much or more, in the order of first appearance.

    One nugget says no more than another if it stands in it literally, or if its content words come in the other in the
    same order, make up at least a share of `threshold` of them, and both have the same numbers and negations.
    """
    keys = [_Key(nugget.text, threshold) for nugget in nuggets]
    longest_first = sorted(range(len(nuggets)), key=lambda index: (-len(keys[index].stems), -len(keys[index].text)))
    groups: dict[int, list[int]] = {}
    for index in longest_first:
        home = next((longer for longer in groups if keys[index].says_no_more_than(keys[longer])), index)
        groups.setdefault(home, []).append(index)
    findings = [Finding(nuggets[longest], tuple(sorted(members))) for longest, members in groups.items()]
    return sorted(findings, key=lambda finding: finding.members)


class _Key:
    def __init__(self, text: str, threshold: float) -> None:
        self.text = f" {' '.join(words(text))} "
        self.stems = stems(text)
        self.facts = facts(text)
        self.threshold = threshold

    def says_no_more_than(self, other: _Key) -> bool:
        if self.text.strip() and self.text in other.text:
            return True
        if not self.stems or self.facts != other.facts or len(self.stems) < self.threshold * len(other.stems):
            return False
        rest = iter(other.stems)
        return all(stem in rest for stem in self.stems)  # each is looked for behind the one before
