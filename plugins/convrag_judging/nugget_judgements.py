"""The nugget judgement of one turn: the labels of each assessor, and the scores that they come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convrag_judging.nugget_files import NuggetLabels
from convrag_judging.nugget_scores import SCORES, LabelPairs

FEW, NO_PAIR, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED = "few", "no_pair", "no_passages", "no_nuggets", "not_judged"
REASONS = (FEW, NO_PAIR, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED)
"""The reasons for which a turn is not scored."""


@dataclass(frozen=True)
class NuggetAssessment:
    """The labels of one assessor for each nugget; `missing_labels` counts the nuggets left out for want of a label."""

    assessor: str
    texts: Sequence[str]
    importance: Sequence[str]
    assignment: Sequence[str]
    missing_labels: int = 0

    @property
    def labels(self) -> LabelPairs:
        """The labels in pairs."""
        return LabelPairs.from_labels(self.importance, self.assignment)

    @classmethod
    def from_complete(
        cls, assessor: str, texts: Sequence[str], importance: Sequence[str], assignment: Sequence[str]
    ) -> NuggetAssessment:
        """An assessment of the nuggets that have both labels; an empty string is a missing label."""
        rows = list(zip(texts, importance, assignment, strict=True))
        complete = [row for row in rows if row[1] and row[2]]
        columns = zip(*complete, strict=True) if complete else ((), (), ())
        return cls(assessor, *columns, missing_labels=len(rows) - len(complete))  # type: ignore[misc]


@dataclass(frozen=True)
class TurnJudgement:
    """The assessments of a turn, or the reason why it has none.

    `words` is the length of the answer that was judged, `problems` has a message for each reply that broke its form.
    """

    turn_id: str
    assessments: tuple[NuggetAssessment, ...] = ()
    words: int | None = None
    left_out: str = ""
    problems: tuple[str, ...] = ()

    @classmethod
    def from_assessments(
        cls, turn_id: str, assessments: Iterable[NuggetAssessment], words: int, problems: Sequence[str]
    ) -> TurnJudgement:
        """A turn that models assessed; an assessment without a single pair of labels does not count."""
        kept = tuple(assessment for assessment in assessments if assessment.labels.pairs)
        return cls(turn_id, kept, words, "" if kept else NOT_JUDGED, tuple(problems))

    @classmethod
    def from_labels(cls, turn_id: str, labels: Sequence[NuggetLabels], words: int | None) -> TurnJudgement:
        """A turn with labels from files; one without labels is left out.

        Labels without a pair count as an assessment, with scores of 0, as in published scores.

        Args:
            turn_id: the turn.
            labels: those of each assessor.
            words: the length of the answer where the files do not have it.
        """
        if not labels:
            return cls(turn_id, left_out=NOT_JUDGED)
        assessments = (NuggetAssessment(each.assessor, each.texts, each.importance, each.assignment) for each in labels)
        return cls(turn_id, tuple(assessments), next((each.words for each in labels if each.words is not None), words))

    def compute_scores(self) -> dict[str, float]:
        """The mean over the assessors of each measure, by its name; empty where the turn is not scored."""
        labels = [assessment.labels for assessment in self.assessments]
        if not labels:
            return {}
        scores = [each.compute_scores() for each in labels]
        means = {f"nuggets_{name}": sum(each[name] for each in scores) / len(scores) for name in SCORES}
        means["nuggets_count"] = sum(len(each.pairs) for each in labels) / len(labels)
        return means | ({} if self.words is None else {"nuggets_words": float(self.words)})
