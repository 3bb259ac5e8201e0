"""The nugget scores of TREC RAG and GINGER, from the labels of an answer's nuggets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convrag_judging.nugget_labels import (
    Assignment,
    Importance,
    parse_assignment,
    parse_importance,
)

SCORES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""The names of the scores, in the order in which they are reported. The first is V_strict."""

PARTIAL_CREDIT = 0.5
"""The credit for partial support, in the scores that are not strict (TREC RAG)."""

OKAY_WEIGHT = 0.5
"""The weight of an okay nugget in the weighted score; a vital one weighs 1 (TREC RAG)."""


@dataclass(frozen=True)
class LabelPairs:
    """The importance and the assignment of each nugget of an answer.

    `unpaired` counts the labels that the longer of two lists had left, `unknown` the labels that
    could not be read.
    """

    pairs: tuple[tuple[Importance, Assignment], ...]
    unpaired: int = 0
    unknown: int = 0

    @classmethod
    def from_labels(cls, importance: Sequence[str], assignment: Sequence[str]) -> "LabelPairs":
        """Pair two lists of labels up to the end of the shorter one.

        Unknown labels count as okay, or as none.
        """
        pairs: list[tuple[Importance, Assignment]] = []
        unknown = 0
        for importance_label, assignment_label in zip(importance, assignment, strict=False):
            parsed_importance = parse_importance(importance_label)
            parsed_assignment = parse_assignment(assignment_label)
            unknown += (parsed_importance, parsed_assignment).count(None)
            pairs.append((parsed_importance or "okay", parsed_assignment or "none"))
        return cls(tuple(pairs), abs(len(importance) - len(assignment)), unknown)

    def compute_scores(self) -> dict[str, float]:
        """Compute the five scores by name, each between 0 and 1; 0 without nuggets to score."""
        vital = [assignment for importance, assignment in self.pairs if importance == "vital"]
        okay = [assignment for importance, assignment in self.pairs if importance == "okay"]
        every = [*vital, *okay]
        weighted_credit = _sum_credit(vital) + OKAY_WEIGHT * _sum_credit(okay)
        return {
            "strict_vital": _divide(_count_full(vital), len(vital)),
            "vital": _divide(_sum_credit(vital), len(vital)),
            "strict_all": _divide(_count_full(every), len(every)),
            "all": _divide(_sum_credit(every), len(every)),
            "weighted": _divide(weighted_credit, len(vital) + OKAY_WEIGHT * len(okay)),
        }


def scores(importance: Iterable[str], assignment: Iterable[str]) -> dict[str, float]:
    """Compute the five nugget scores of an answer.

        scores(["vital", "okay"], ["support", "partial_support"])["strict_vital"]

    Args:
        importance: "vital" or "okay" for each nugget, in any case.
        assignment: "support", "partial" or "none" for each nugget, also as "partial_support",
            "not_support" and the like. Of two lists of unequal length, the rest of the longer one
            does not count.
    """
    return LabelPairs.from_labels(list(importance), list(assignment)).compute_scores()


def _count_full(assignments: Sequence[Assignment]) -> int:
    return assignments.count("support")


def _sum_credit(assignments: Sequence[Assignment]) -> float:
    return assignments.count("support") + PARTIAL_CREDIT * assignments.count("partial")


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
