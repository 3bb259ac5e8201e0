"""The nugget judgements of turns: the labels of each assessor, the scores that they come to, and a run's in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Report
from convrag.sdk.strict_json import format_json
from convrag_judging.nugget_scores import SCORES, LabelPairs, NuggetLabels

FEW, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED = "few", "no_passages", "no_nuggets", "not_judged"
REASONS = (FEW, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED)
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
            labels: of each assessor.
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


TITLE = "nuggets"
FILE = "nuggets.jsonl"
"""The labels of a run, in a form that metrics.nuggets.judgements reads."""


class NuggetAggregate:
    """Collects the nugget judgements of one run.

    Args:
        min_nuggets: the fewest nuggets that an answer had to rest on.
        turns_in_files: the turns that files of judgements hold; None where models judged.
    """

    def __init__(self, min_nuggets: int, turns_in_files: Sequence[str] | None = None) -> None:
        self.min_nuggets = min_nuggets
        self.turns_in_files = turns_in_files
        self.scores: dict[str, dict[str, float]] = {}
        """Turn id -> measure -> value, for the turns that are scored."""
        self._left_out: Counter[str] = Counter()
        self._label_counts: Counter[str] = Counter()
        self._problems: Counter[str] = Counter()
        self._turns: set[str] = set()
        self._assessor_scores: dict[str, list[dict[str, float]]] = {}
        self._lines: list[str] = []

    def add(self, judgement: TurnJudgement) -> None:
        """Add a turn."""
        self._turns.add(judgement.turn_id)
        self._problems.update(judgement.problems)
        if judgement.left_out:
            self._left_out[judgement.left_out] += 1
        else:
            self.scores[judgement.turn_id] = judgement.compute_scores()
        for assessment in judgement.assessments:
            labels = assessment.labels
            vital = sum(importance == "vital" for importance, _ in labels.pairs)
            self._label_counts.update(
                unequal=bool(labels.unpaired),
                unpaired=labels.unpaired,
                unknown=labels.unknown,
                left_open=assessment.missing_labels,
            )
            counts = {"nuggets": float(len(labels.pairs)), "vital_nuggets": float(vital)}
            self._assessor_scores.setdefault(assessment.assessor, []).append(labels.compute_scores() | counts)
        self._lines += _to_json_lines(judgement)

    def average_assessors(self) -> dict[str, dict[str, float]]:
        """Assessor -> the number of turns that it judged, and the means over them."""
        names = (*SCORES, "nuggets", "vital_nuggets")
        return {
            assessor: {
                "turns": float(len(turns)),
                **{name: sum(turn[name] for turn in turns) / len(turns) for name in names},
            }
            for assessor, turns in self._assessor_scores.items()
        }

    def report(self) -> Report | None:
        """The counts in sentences and as data, and the labels of models as a file; None where there was no turn."""
        if not self._turns:
            return None
        files = {FILE: "\n".join(self._lines)} if self.turns_in_files is None and self._lines else {}
        return Report("judging", tuple(self._sentences()), {TITLE: self._numbers()}, files)

    def _count_absent(self) -> int:
        """The number of turns in the files of judgements that the run does not have."""
        return sum(turn_id not in self._turns for turn_id in self.turns_in_files or ())

    def _numbers(self) -> dict[str, Any]:
        names = ("unequal", "unpaired", "unknown", "left_open")
        return {
            "turns": len(self._turns),
            "scored": len(self.scores),
            "left_out": {reason: self._left_out[reason] for reason in REASONS},
            "labels": {name: self._label_counts[name] for name in names},
            "unusable_replies": self._problems.total(),
            "not_in_run": self._count_absent(),
            "assessors": self.average_assessors(),
        }

    def _sentences(self) -> Iterator[str]:
        if self.scores:
            yield self._headline()
        if len(self._assessor_scores) > 1:
            yield "Nuggets, V_strict by assessor: " + ", ".join(
                f"{assessor} {mean['strict_vital']:.3f} ({mean['nuggets']:.1f} nuggets a turn, "
                f"{mean['vital_nuggets']:.1f} vital)"
                for assessor, mean in self.average_assessors().items()
            )
        yield self._describe_left_out()
        counts = self._label_counts
        if counts["unequal"]:
            yield (
                f"Nuggets: {counts['unequal']} pairs of lists are of unequal length; {counts['unpaired']} labels have "
                "no partner, and do not count"
            )
        if counts["unknown"]:
            yield f"Nuggets: {counts['unknown']} labels cannot be read; they count as okay, or as no support"
        if self._problems:
            reason, _ = self._problems.most_common(1)[0]
            yield (
                f"Nuggets: {self._problems.total()} replies could not be used as they were, and {counts['left_open']} "
                f"labels are missing for it; such nuggets do not count. Most often: {reason}"
            )
        if absent := self._count_absent():
            yield f"Nuggets: {absent} of {len(self.turns_in_files or ())} turns that files judge are not in this run"

    def _headline(self) -> str:
        strict = f"Nuggets: V_strict {self._average('nuggets_strict_vital'):.3f} over {len(self.scores)} turns"
        known = any("nuggets_words" in scores for scores in self.scores.values())
        words = f"answers of {self._average('nuggets_words'):.1f} words" if known else "length of the answers unknown"
        return f"{strict}, {words}, {self._average('nuggets_count'):.1f} nuggets a turn"

    def _average(self, measure: str) -> float:
        values = [scores[measure] for scores in self.scores.values() if measure in scores]
        return sum(values) / len(values)

    def _describe_left_out(self) -> str:
        """How many turns were left out, and why; with `min_nuggets`, too few nuggets are named even if 0 turns."""
        reasons = {
            FEW: f"rest on fewer than {self.min_nuggets} nuggets",
            NO_PASSAGES: "have no passages to make nuggets from",
            NO_NUGGETS: "have no nuggets",
            NOT_JUDGED: "have no judgement",
        }
        counts = {reason: self._left_out[reason] for reason in reasons}
        named = [
            f"{count} {reasons[name]}"
            for name, count in counts.items()
            if count or (name == FEW and self.min_nuggets > 0)
        ]
        total = f"Nuggets: {sum(counts.values())} of {len(self._turns)} turns left out"
        return f"{total}: {', '.join(named)}" if named else total


def _to_json_lines(judgement: TurnJudgement) -> Iterator[str]:
    """A line for each assessor, as metrics.nuggets.judgements reads them."""
    for assessment in judgement.assessments:
        rows = zip(assessment.texts, assessment.importance, assessment.assignment, strict=False)
        nuggets = [
            {"text": text, "importance": importance, "assignment": assignment} for text, importance, assignment in rows
        ]
        line = {"turn_id": judgement.turn_id, "assessor": assessment.assessor, "words": judgement.words}
        yield format_json({**line, "nuggets": nuggets})
