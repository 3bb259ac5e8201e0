"""The nugget judgements of turns: the labels of each assessor, the scores that they come to, and a
run's in all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from convrag import Report
from convrag.sdk.data.strict_json import format_json
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
        cls,
        assessor: str,
        texts: Sequence[str],
        importance: Sequence[str],
        assignment: Sequence[str],
    ) -> NuggetAssessment:
        """An assessment of the nuggets that have both labels; an empty string is a missing label."""
        rows = list(zip(texts, importance, assignment, strict=True))
        complete = [row for row in rows if row[1] and row[2]]
        columns = zip(*complete, strict=True) if complete else ((), (), ())
        return cls(assessor, *columns, missing_labels=len(rows) - len(complete))  # type: ignore[misc]


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
        """A turn that models assessed; an assessment without a single pair of labels does not
        count.
        """
        kept = tuple(assessment for assessment in assessments if assessment.labels.pairs)
        return cls(turn_id, kept, words, "" if kept else NOT_JUDGED, tuple(problems))

    @classmethod
    def from_labels(
        cls, turn_id: str, labels: Sequence[NuggetLabels], words: int | None
    ) -> TurnJudgement:
        """A turn with labels from files; one without labels is left out.

        Labels without a pair count as an assessment, with scores of 0, as in published scores.

        Args:
            turn_id: the turn.
            labels: of each assessor.
            words: the length of the answer where the files do not have it.
        """
        if not labels:
            return cls(turn_id, left_out=NOT_JUDGED)
        assessments = (
            NuggetAssessment(each.assessor, each.texts, each.importance, each.assignment)
            for each in labels
        )
        return cls(
            turn_id,
            tuple(assessments),
            next((each.words for each in labels if each.words is not None), words),
        )

    def compute_scores(self) -> dict[str, float]:
        """The mean over the assessors of each measure, by its name; empty where the turn is not
        scored.
        """
        labels = [assessment.labels for assessment in self.assessments]
        if not labels:
            return {}
        scores = [each.compute_scores() for each in labels]
        means = {
            f"nuggets_{name}": sum(each[name] for each in scores) / len(scores) for name in SCORES
        }
        means["nuggets_count"] = sum(len(each.pairs) for each in labels) / len(labels)
        return means | ({} if self.words is None else {"nuggets_words": float(self.words)})


TITLE = "nuggets"
FILE = "nuggets.jsonl"
"""The labels of a run, in a form that metrics.nuggets.judgements reads."""


def report_judgements(
    judgements: Sequence[TurnJudgement], min_nuggets: int, in_files: Sequence[str] | None
) -> Report | None:
    """The counts in sentences and as data, and the labels of models as a file; None where there was
    no turn.

    Args:
        judgements: of the run's turns.
        min_nuggets: the fewest nuggets that an answer had to rest on.
        in_files: the turns that files of judgements hold; None where models judged.
    """
    if not judgements:
        return None
    counts = Counter(unequal=0, unpaired=0, unknown=0, left_open=0)
    for each in (assessment for judgement in judgements for assessment in judgement.assessments):
        labels = each.labels
        counts.update(unequal=bool(labels.unpaired), unpaired=labels.unpaired)
        counts.update(unknown=labels.unknown, left_open=each.missing_labels)
    left_out = Counter(each.left_out for each in judgements)
    numbers = {
        "turns": len(judgements),
        "scored": left_out[""],
        "left_out": {reason: left_out[reason] for reason in REASONS},
        "labels": dict(counts),
        "unusable_replies": sum(len(each.problems) for each in judgements),
        "not_in_run": len(set(in_files or ()) - {each.turn_id for each in judgements}),
        "assessors": _average_assessors(judgements),
    }
    sentences = tuple(
        f"Nuggets{line}"
        for line in _describe(judgements, numbers, min_nuggets, len(in_files or ()))
    )
    rows = "\n".join(line for each in judgements for line in _to_json_lines(each))
    return Report(
        "judging", sentences, {TITLE: numbers}, {FILE: rows} if in_files is None and rows else {}
    )


def _average_assessors(judgements: Sequence[TurnJudgement]) -> dict[str, dict[str, float]]:
    """Assessor -> the number of turns that it judged, and the means over them."""
    turns: dict[str, list[dict[str, float]]] = {}
    for each in (assessment for judgement in judgements for assessment in judgement.assessments):
        pairs = each.labels.pairs
        vital = sum(importance == "vital" for importance, _ in pairs)
        scores = {
            **each.labels.compute_scores(),
            "nuggets": float(len(pairs)),
            "vital_nuggets": float(vital),
        }
        turns.setdefault(each.assessor, []).append(scores)
    names = (*SCORES, "nuggets", "vital_nuggets")
    return {
        assessor: {"turns": float(len(rows))}
        | {name: fmean(row[name] for row in rows) for name in names}
        for assessor, rows in turns.items()
    }


def _describe(
    judgements: Sequence[TurnJudgement], numbers: Mapping[str, Any], min_nuggets: int, in_files: int
) -> Iterator[str]:
    scores = [each.compute_scores() for each in judgements if not each.left_out]
    if scores:
        mean = {
            name: fmean(given)
            for name in scores[0] | {"nuggets_words": 0.0}
            if (given := _list(scores, name))
        }
        words = mean.get("nuggets_words")
        length = (
            "length of the answers unknown" if words is None else f"answers of {words:.1f} words"
        )
        strict, count = mean["nuggets_strict_vital"], mean["nuggets_count"]
        yield f": V_strict {strict:.3f} over {len(scores)} turns, {length}, {count:.1f} nuggets a turn"
    if len(numbers["assessors"]) > 1:
        yield ", V_strict by assessor: " + ", ".join(
            f"{assessor} {mean['strict_vital']:.3f} ({mean['nuggets']:.1f} nuggets a turn, "
            f"{mean['vital_nuggets']:.1f} vital)"
            for assessor, mean in numbers["assessors"].items()
        )
    yield _describe_left_out(numbers, min_nuggets)
    labels = numbers["labels"]
    if labels["unequal"]:
        yield (
            f": {labels['unequal']} pairs of lists are of unequal length; {labels['unpaired']} labels have no partner, "
            "and do not count"
        )
    if labels["unknown"]:
        yield f": {labels['unknown']} labels cannot be read; they count as okay, or as no support"
    if problems := Counter(problem for each in judgements for problem in each.problems):
        yield (
            f": {problems.total()} replies could not be used as they were, and {labels['left_open']} labels are "
            f"missing for it; such nuggets do not count. Most often: {problems.most_common(1)[0][0]}"
        )
    if absent := numbers["not_in_run"]:
        yield f": {absent} of {in_files} turns that files judge are not in this run"


def _list(scores: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [each[name] for each in scores if name in each]


def _describe_left_out(numbers: Mapping[str, Any], min_nuggets: int) -> str:
    """How many turns were left out, and why; with `min_nuggets`, too few nuggets are named even if
    0 turns.
    """
    reasons = {
        FEW: f"rest on fewer than {min_nuggets} nuggets",
        NO_PASSAGES: "have no passages to make nuggets from",
        NO_NUGGETS: "have no nuggets",
        NOT_JUDGED: "have no judgement",
    }
    counts = numbers["left_out"]
    named = [
        f"{counts[each]} {why}"
        for each, why in reasons.items()
        if counts[each] or (each == FEW and min_nuggets)
    ]
    total = f": {sum(counts.values())} of {numbers['turns']} turns left out"
    return f"{total}: {', '.join(named)}" if named else total


def _to_json_lines(judgement: TurnJudgement) -> Iterator[str]:
    """A line for each assessor, as metrics.nuggets.judgements reads them."""
    for assessment in judgement.assessments:
        rows = zip(assessment.texts, assessment.importance, assessment.assignment, strict=False)
        nuggets = [
            {"text": text, "importance": importance, "assignment": assignment}
            for text, importance, assignment in rows
        ]
        line = {
            "turn_id": judgement.turn_id,
            "assessor": assessment.assessor,
            "words": judgement.words,
        }
        yield format_json({**line, "nuggets": nuggets})
