"""The report about the nugget judgements of a run, and the file of their labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from convrag import Report
from convrag.sdk.data.strict_json import format_json
from convrag_judging.nugget_judgements import (
    FEW,
    NO_NUGGETS,
    NO_PASSAGES,
    NOT_JUDGED,
    REASONS,
    TurnJudgement,
)
from convrag_judging.nugget_scores import SCORES

TITLE = "nuggets"
FILE = "nuggets.jsonl"
"""The labels of a run, in a form that metrics.nuggets.judgements reads."""


def report_judgements(
    judgements: Sequence[TurnJudgement], min_nuggets: int, judged_turns: Sequence[str] | None
) -> Report | None:
    """Report counts, with a file of the models' labels; None where there was no turn.

    Args:
        judgements: the judgements of the run's turns.
        min_nuggets: the fewest nuggets that an answer had to rest on.
        judged_turns: the turns that files of judgements hold; None where models judged.
    """
    if not judgements:
        return None
    left_out = Counter(judgement.left_out for judgement in judgements)
    known_turns = {judgement.turn_id for judgement in judgements}
    numbers = {
        "turns": len(judgements),
        "scored": left_out[""],
        "left_out": {reason: left_out[reason] for reason in REASONS},
        "labels": _count_labels(judgements),
        "unusable_replies": sum(len(judgement.problems) for judgement in judgements),
        "not_in_run": len(set(judged_turns or ()) - known_turns),
        "assessors": _average_assessors(judgements),
    }
    lines = [f"Nuggets{line}" for line in _describe(judgements, numbers, min_nuggets, judged_turns)]
    files = {}
    if judged_turns is None:
        rows = [line for judgement in judgements for line in _format_json_lines(judgement)]
        if rows:
            files[FILE] = "\n".join(rows)
    return Report("judging", tuple(lines), {TITLE: numbers}, files)


def _count_labels(judgements: Sequence[TurnJudgement]) -> dict[str, int]:
    """Count what is wrong with labels, over all assessments."""
    counts = {"unequal": 0, "unpaired": 0, "unknown": 0, "left_open": 0}
    for judgement in judgements:
        for assessment in judgement.assessments:
            labels = assessment.labels
            if labels.unpaired:
                counts["unequal"] += 1
            counts["unpaired"] += labels.unpaired
            counts["unknown"] += labels.unknown
            counts["left_open"] += assessment.missing_labels
    return counts


def _average_assessors(judgements: Sequence[TurnJudgement]) -> dict[str, dict[str, float]]:
    """Average assessor -> the number of turns that it judged, and the means over them."""
    by_assessor: dict[str, list[dict[str, float]]] = {}
    for judgement in judgements:
        for assessment in judgement.assessments:
            pairs = assessment.labels.pairs
            scores = assessment.labels.compute_scores()
            scores["nuggets"] = float(len(pairs))
            scores["vital_nuggets"] = float(sum(label == "vital" for label, _ in pairs))
            by_assessor.setdefault(assessment.assessor, []).append(scores)
    means = {}
    for assessor, turns in by_assessor.items():
        means[assessor] = {"turns": float(len(turns))}
        for name in (*SCORES, "nuggets", "vital_nuggets"):
            means[assessor][name] = fmean(scores[name] for scores in turns)
    return means


def _describe(
    judgements: Sequence[TurnJudgement],
    numbers: Mapping[str, Any],
    min_nuggets: int,
    judged_turns: Sequence[str] | None,
) -> Iterator[str]:
    """Yield the counts in sentences, each to be put after "Nuggets"."""
    scores = [judgement.compute_scores() for judgement in judgements if not judgement.left_out]
    if scores:
        yield _describe_scores(scores)
    if len(numbers["assessors"]) > 1:
        yield _describe_assessors(numbers["assessors"])
    yield _describe_left_out(numbers, min_nuggets)
    labels = numbers["labels"]
    if labels["unequal"]:
        yield (
            f": {labels['unequal']} pairs of lists are of unequal length; {labels['unpaired']} "
            "labels have no partner, and do not count"
        )
    if labels["unknown"]:
        yield f": {labels['unknown']} labels cannot be read; they count as okay, or as no support"
    problems = Counter(problem for judgement in judgements for problem in judgement.problems)
    if problems:
        [(most_frequent, _)] = problems.most_common(1)
        yield (
            f": {problems.total()} replies could not be used as they were, and "
            f"{labels['left_open']} labels are missing for it; such nuggets do not count. "
            f"Most often: {most_frequent}"
        )
    if judged_turns is not None and numbers["not_in_run"]:
        yield (
            f": {numbers['not_in_run']} of {len(judged_turns)} turns that files judge are not in "
            "this run"
        )


def _describe_scores(scores: Sequence[Mapping[str, float]]) -> str:
    """Describe the mean score of the scored turns, and the length of their answers."""
    strict_vital = fmean(turn["nuggets_strict_vital"] for turn in scores)
    nuggets = fmean(turn["nuggets_count"] for turn in scores)
    words = [turn["nuggets_words"] for turn in scores if "nuggets_words" in turn]
    length = f"answers of {fmean(words):.1f} words" if words else "length of the answers unknown"
    return (
        f": V_strict {strict_vital:.3f} over {len(scores)} turns, {length}, {nuggets:.1f} nuggets "
        "a turn"
    )


def _describe_assessors(assessors: Mapping[str, Mapping[str, float]]) -> str:
    figures = [
        f"{assessor} {means['strict_vital']:.3f} ({means['nuggets']:.1f} nuggets a turn, "
        f"{means['vital_nuggets']:.1f} vital)"
        for assessor, means in assessors.items()
    ]
    return f", V_strict by assessor: {', '.join(figures)}"


def _describe_left_out(numbers: Mapping[str, Any], min_nuggets: int) -> str:
    """Describe how many turns were left out, and why.

    With `min_nuggets`, turns with too few nuggets are named even if there are none.
    """
    reasons = {
        FEW: f"rest on fewer than {min_nuggets} nuggets",
        NO_PASSAGES: "have no passages to make nuggets from",
        NO_NUGGETS: "have no nuggets",
        NOT_JUDGED: "have no judgement",
    }
    counts = numbers["left_out"]
    named = []
    for reason, description in reasons.items():
        if counts[reason] or (reason == FEW and min_nuggets):
            named.append(f"{counts[reason]} {description}")
    total = f": {sum(counts.values())} of {numbers['turns']} turns left out"
    return f"{total}: {', '.join(named)}" if named else total


def _format_json_lines(judgement: TurnJudgement) -> Iterator[str]:
    """Yield a line for each assessor, as metrics.nuggets.judgements reads them."""
    for assessment in judgement.assessments:
        columns = (assessment.texts, assessment.importance, assessment.assignment)
        nuggets = [
            {"text": text, "importance": importance, "assignment": assignment}
            for text, importance, assignment in zip(*columns, strict=False)
        ]
        yield format_json(
            {
                "turn_id": judgement.turn_id,
                "assessor": assessment.assessor,
                "words": judgement.words,
                "nuggets": nuggets,
            }
        )
