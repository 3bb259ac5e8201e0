"""What labels of nuggets come to, as TREC RAG and GINGER define it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convrag_judging.labels import Assignment, Importance, assignment_of, importance_of

SCORES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""The names of the scores, in the order in which they are reported. The first is V_strict."""

PARTIAL = 0.5
"""What partial support counts for, where it counts (TREC RAG)."""

OKAY = 0.5
"""What a nugget that is only okay weighs in the weighted score, beside 1 for a vital one (TREC RAG)."""


@dataclass(frozen=True)
class Labels:
    """The labels of an answer's nuggets, paired.

    `unpaired` counts labels that had none to pair with, `unknown` those that are none of the labels that there are.
    """

    pairs: tuple[tuple[Importance, Assignment], ...]
    unpaired: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, importance: Sequence[str], assignment: Sequence[str]) -> Labels:
        """Pair labels in any case and spelling, up to the end of the shorter list; an unknown label earns nothing."""
        read = [(importance_of(a), assignment_of(b)) for a, b in zip(importance, assignment, strict=False)]
        return cls(
            tuple((vital or "okay", support or "none") for vital, support in read),
            abs(len(importance) - len(assignment)),
            sum(label is None for pair in read for label in pair),
        )

    def scores(self) -> dict[str, float]:
        """Name -> value between 0 and 1; 0 where there is nothing to divide by."""
        vital = [support for importance, support in self.pairs if importance == "vital"]
        okay = [support for importance, support in self.pairs if importance == "okay"]
        weights = len(vital) + OKAY * len(okay)
        values = (
            _share(_full(vital), len(vital)),
            _share(_credit(vital), len(vital)),
            _share(_full([*vital, *okay]), len(self.pairs)),
            _share(_credit([*vital, *okay]), len(self.pairs)),
            _share(_credit(vital) + OKAY * _credit(okay), weights),
        )
        return dict(zip(SCORES, values, strict=True))


def scores(importance: Iterable[str], assignment: Iterable[str]) -> dict[str, float]:
    """The five nugget scores of an answer.

        scores(["vital", "okay"], ["support", "partial_support"])["strict_vital"]

    Args:
        importance: "vital" or "okay" for each nugget, in any case.
        assignment: "support", "partial" or "none" for each, also as "partial_support", "not_support" and the like. Of
            two lists of unequal length, what the longer one has more does not count.
    """
    return Labels.of(list(importance), list(assignment)).scores()


def _full(labels: Iterable[Assignment]) -> int:
    return sum(label == "support" for label in labels)


def _credit(labels: Sequence[Assignment]) -> float:
    return _full(labels) + PARTIAL * sum(label == "partial" for label in labels)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
