"""What the verdicts of a run come to, beside the means."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from convrag import Report
from convrag_judging.scoring import SCORES
from convrag_judging.verdict import FEW, NO_NUGGETS, NO_PASSAGES, NOT_JUDGED, Verdict

TITLE = "nuggets"
FILE = "nuggets.jsonl"
"""The labels of a run: a file that metrics.nuggets.judgements reads."""


class Tally:
    """Adds up the verdicts of one run.

    Args:
        min_nuggets: the fewest nuggets on which an answer had to rest.
        given: the turns that files of judgements hold; None where models judged.
    """

    def __init__(self, min_nuggets: int, given: Sequence[str] | None = None) -> None:
        self.min_nuggets = min_nuggets
        self.given = given
        self.left_out: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self.scored: dict[str, dict[str, float]] = {}
        """Turn id -> measure -> value."""
        self._seen: set[str] = set()
        self._assessors: dict[str, list[dict[str, float]]] = {}
        self._lines: list[str] = []

    def add(self, verdict: Verdict) -> None:
        """Count a turn."""
        self._seen.add(verdict.turn_id)
        self.problems.update(verdict.problems)
        if verdict.left_out:
            self.left_out[verdict.left_out] += 1
        else:
            self.scored[verdict.turn_id] = verdict.scores()
        for assessment in verdict.assessments:
            labels = assessment.labels
            vital = sum(importance == "vital" for importance, _ in labels.pairs)
            self.labels.update(
                unequal=bool(labels.unpaired),
                unpaired=labels.unpaired,
                unknown=labels.unknown,
                left_open=assessment.left_open,
            )
            counts = {"nuggets": float(len(labels.pairs)), "vital_nuggets": float(vital)}
            self._assessors.setdefault(assessment.assessor, []).append(labels.scores() | counts)
        self._lines += _file_lines(verdict)

    def report(self) -> Report | None:
        """The counts in sentences and as data, and what models said as a file; None where there was no turn."""
        if not self._seen:
            return None
        files = {FILE: "\n".join(self._lines)} if self.given is None and self._lines else {}
        return Report(TITLE, tuple(self._sentences()), self._numbers(), files)

    def assessors(self) -> dict[str, dict[str, float]]:
        """Assessor -> the number of turns that it judged, and the means over them."""
        names = (*SCORES, "nuggets", "vital_nuggets")
        return {
            who: {"turns": float(len(each)), **{name: sum(one[name] for one in each) / len(each) for name in names}}
            for who, each in self._assessors.items()
        }

    @property
    def absent(self) -> int:
        """Turns of the files that the run does not have."""
        return sum(turn_id not in self._seen for turn_id in self.given or ())

    def _numbers(self) -> dict[str, Any]:
        names = ("unequal", "unpaired", "unknown", "left_open")
        return {
            "turns": len(self._seen),
            "scored": len(self.scored),
            "left_out": {reason: self.left_out[reason] for reason in (FEW, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED)},
            "labels": {name: self.labels[name] for name in names},
            "unusable_replies": self.problems.total(),
            "not_in_run": self.absent,
            "assessors": self.assessors(),
        }

    def _sentences(self) -> Iterator[str]:
        if self.scored:
            yield self._headline()
        if len(self._assessors) > 1:
            yield "Nuggets, V_strict by assessor: " + ", ".join(
                f"{who} {mean['strict_vital']:.3f} ({mean['nuggets']:.1f} nuggets a turn, {mean['vital_nuggets']:.1f} "
                "vital)"
                for who, mean in self.assessors().items()
            )
        yield self._omissions()
        labels = self.labels
        if labels["unequal"]:
            yield (
                f"Nuggets: {labels['unequal']} pairs of lists are of unequal length; {labels['unpaired']} labels have "
                "no partner, and do not count"
            )
        if labels["unknown"]:
            yield f"Nuggets: {labels['unknown']} labels cannot be read; they count as okay, or as no support"
        if self.problems:
            reason, _ = self.problems.most_common(1)[0]
            yield (
                f"Nuggets: {self.problems.total()} replies could not be used as they were, and {labels['left_open']} "
                f"labels are missing for it; such nuggets do not count. Most often: {reason}"
            )
        if self.absent:
            yield f"Nuggets: {self.absent} of {len(self.given or ())} turns that files judge are not in this run"

    def _headline(self) -> str:
        mean = self._mean
        said = f"Nuggets: V_strict {mean('nuggets_strict_vital'):.3f} over {len(self.scored)} turns"
        told = [scores for scores in self.scored.values() if "nuggets_words" in scores]
        length = f", answers of {mean('nuggets_words'):.1f} words" if told else ", length of the answers unknown"
        return f"{said}{length}, {mean('nuggets_count'):.1f} nuggets a turn"

    def _mean(self, name: str) -> float:
        values = [scores[name] for scores in self.scored.values() if name in scores]
        return sum(values) / len(values)

    def _omissions(self) -> str:
        """How many turns were left out, and why; with `min_nuggets`, also where it left out none."""
        reasons = {
            FEW: f"rest on fewer than {self.min_nuggets} nuggets",
            NO_PASSAGES: "have no passages to make nuggets from",
            NO_NUGGETS: "have no nuggets",
            NOT_JUDGED: "have no judgement",
        }
        counts = {reason: self.left_out[reason] for reason in reasons}
        told = [
            f"{count} {reasons[name]}" for name, count in counts.items() if count or (name == FEW and self.min_nuggets)
        ]
        return f"Nuggets: {sum(counts.values())} of {len(self._seen)} turns left out" + (
            f": {', '.join(told)}" if told else ""
        )


def _file_lines(verdict: Verdict) -> Iterator[str]:
    """A line for each assessor, as metrics.nuggets.judgements reads them."""
    for assessment in verdict.assessments:
        rows = zip(assessment.texts, assessment.importance, assessment.assignment, strict=False)
        nuggets = [{"text": text, "importance": vital, "assignment": support} for text, vital, support in rows]
        who = {"turn_id": verdict.turn_id, "assessor": assessment.assessor}
        yield json.dumps({**who, "words": verdict.words, "nuggets": nuggets}, ensure_ascii=False)
