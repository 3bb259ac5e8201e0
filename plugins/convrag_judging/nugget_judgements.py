"""The nugget judgements of turns: the labels of each assessor, and the scores from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from convrag_judging.nugget_labels import NuggetLabels
from convrag_judging.nugget_scores import SCORES, LabelPairs

FEW, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED = "few", "no_passages", "no_nuggets", "not_judged"
REASONS = (FEW, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED)
"""The reasons for which a turn is not scored."""


@dataclass(frozen=True)
class NuggetAssessment:
    """The labels of one assessor for each nugget.

    `missing_labels` counts the nuggets that were left out because they lack a label.
    """

    assessor: str
    texts: Sequence[str]
    importance: Sequence[str]
    assignment: Sequence[str]
    missing_labels: int = 0

    @property
    def labels(self) -> LabelPairs:
        """The importance and the assignment of each nugget, in pairs."""
        return LabelPairs.from_labels(self.importance, self.assignment)

    @classmethod
    def from_complete(
        cls,
        assessor: str,
        texts: Sequence[str],
        importance: Sequence[str],
        assignment: Sequence[str],
    ) -> NuggetAssessment:
        """Make an assessment of the nuggets that have both labels; an empty label is missing."""
        rows = list(zip(texts, importance, assignment, strict=True))
        complete = [row for row in rows if row[1] and row[2]]
        return cls(
            assessor,
            texts=[text for text, _, _ in complete],
            importance=[label for _, label, _ in complete],
            assignment=[label for _, _, label in complete],
            missing_labels=len(rows) - len(complete),
        )


@dataclass(frozen=True)
class TurnJudgement:
    """The assessments of a turn, or the reason why it has none.

    `words` is the length of the answer that was judged, `problems` has a message for each reply
    that broke its form.
    """

    turn_id: str
    assessments: tuple[NuggetAssessment, ...] = ()
    words: int | None = None
    left_out: str = ""
    problems: tuple[str, ...] = ()

    @classmethod
    def from_assessments(
        cls,
        turn_id: str,
        assessments: Iterable[NuggetAssessment],
        words: int,
        problems: Sequence[str],
    ) -> TurnJudgement:
        """Make the judgement of a turn that models assessed.

        An assessment without a single pair of labels does not count.
        """
        usable = tuple(assessment for assessment in assessments if assessment.labels.pairs)
        left_out = "" if usable else NOT_JUDGED
        return cls(turn_id, usable, words, left_out, tuple(problems))

    @classmethod
    def from_labels(
        cls, turn_id: str, labels: Sequence[NuggetLabels], words: int | None
    ) -> TurnJudgement:
        """Make the judgement of a turn with labels from files; one without labels is left out.

        Labels without a pair count as an assessment, with scores of 0, as in published scores.

        Args:
            turn_id: the turn.
            labels: the labels of each assessor.
            words: the length of the answer where the files do not have it.
        """
        if not labels:
            return cls(turn_id, left_out=NOT_JUDGED)
        assessments = [
            NuggetAssessment(each.assessor, each.texts, each.importance, each.assignment)
            for each in labels
        ]
        for each in labels:
            if each.words is not None:
                words = each.words
                break
        return cls(turn_id, tuple(assessments), words)

    def compute_scores(self) -> dict[str, float]:
        """Compute the mean of each measure over assessors; none where the turn is not scored."""
        if not self.assessments:
            return {}
        labels = [assessment.labels for assessment in self.assessments]
        scores = [each.compute_scores() for each in labels]
        means = {f"nuggets_{name}": fmean(each[name] for each in scores) for name in SCORES}
        means["nuggets_count"] = fmean(len(each.pairs) for each in labels)
        if self.words is not None:
            means["nuggets_words"] = float(self.words)
        return means
