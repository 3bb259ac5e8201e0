"""What the judges of a run gave, and how far they agree with each other and with people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Report
from convrag_judging.agreement import Agreement, agreements
from convrag_judging.krippendorff import alpha
from convrag_judging.opinions import Opinion, grouped
from convrag_judging.rubric import Rubric

TITLE = "judge"
FILE = "judgements.jsonl"
"""The scores of a run: a file that metrics.judge.judgements and task=agreement read."""


@dataclass(frozen=True)
class Vote:
    """The opinions on one answer; `empty` where there was none to judge."""

    turn_id: str
    opinions: tuple[Opinion, ...] = ()
    problems: tuple[str, ...] = ()
    empty: bool = False


class Ballot:
    """Collects the votes of one run.

    Args:
        rubric: by which judges went.
        human: what people said.
    """

    def __init__(self, rubric: Rubric, human: Sequence[Opinion] = ()) -> None:
        self.rubric = rubric
        self.human = human
        self.given: tuple[str, ...] | None = None
        """The turns that files of judgements hold; None where models judged."""
        self.votes: list[Vote] = []

    def add(self, vote: Vote) -> None:
        """Count a turn."""
        self.votes.append(vote)

    def means(self) -> dict[str, dict[str, float]]:
        """Turn id -> criterion -> the mean over those who scored it."""
        found: dict[str, dict[str, float]] = {}
        for vote in self.votes:
            scores: dict[str, list[float]] = {}
            for opinion in vote.opinions:
                scores.setdefault(opinion.criterion, []).append(opinion.score)
            if scores:
                found[vote.turn_id] = {name: sum(values) / len(values) for name, values in scores.items()}
        return found

    def report(self) -> Report | None:
        """Counts and agreement in sentences and as data, and each score as a file; None where there was no turn."""
        if not self.votes:
            return None
        lines = "\n".join(_line(opinion) for opinion in self._opinions())
        files = {FILE: lines} if self.given is None and lines else {}
        return Report(TITLE, tuple(self._sentences()), self._numbers(), files)

    def judges(self) -> dict[str, dict[str, float]]:
        """Judge -> criterion -> the mean of its scores."""
        values: dict[str, dict[str, list[float]]] = {}
        for opinion in self._opinions():
            values.setdefault(opinion.annotator, {}).setdefault(opinion.criterion, []).append(opinion.score)
        return {
            judge: {name: sum(scores) / len(scores) for name, scores in by_name.items()}
            for judge, by_name in values.items()
        }

    def among_judges(self) -> dict[str, float | None]:
        """Criterion -> Krippendorff's alpha (ordinal) of the judges; nothing for a single one."""
        if len(self.judges()) < 2:
            return {}
        by_criterion = grouped(self._opinions())
        return {name: alpha([list(said.values()) for said in turns.values()]) for name, turns in by_criterion.items()}

    def with_people(self) -> dict[str, Agreement]:
        """Criterion -> agreement with the scores of people."""
        return agreements(grouped(self._opinions()), grouped(self.human))

    def _opinions(self) -> list[Opinion]:
        return [opinion for vote in self.votes for opinion in vote.opinions]

    def _problems(self) -> Counter[str]:
        return Counter(problem for vote in self.votes for problem in vote.problems)

    @property
    def _absent(self) -> int:
        there = {vote.turn_id for vote in self.votes}
        return sum(turn_id not in there for turn_id in self.given or ())

    def _numbers(self) -> dict[str, Any]:
        return {
            "turns": len(self.votes),
            "judged": len(self.means()),
            "without_answer": sum(vote.empty for vote in self.votes),
            "unusable_replies": self._problems().total(),
            "not_in_run": self._absent,
            "judges": self.judges(),
            "alpha_among_judges": self.among_judges(),
            "agreement": {name: found.numbers() for name, found in self.with_people().items()},
        }

    def _sentences(self) -> Iterator[str]:
        judges, means = self.judges(), self.means()
        scale = "" if self.given is not None else f", on a scale from {self.rubric.lowest} to {self.rubric.highest}"
        yield f"Judge: {len(means)} of {len(self.votes)} answers judged by {', '.join(judges) or 'nobody'}{scale}"
        if empty := sum(vote.empty for vote in self.votes):
            yield f"Judge: {empty} turns have no answer, and the lowest score"
        if problems := self._problems():
            reason, _ = problems.most_common(1)[0]
            yield f"Judge: {problems.total()} replies could not be used as they were. Most often: {reason}"
        if self._absent:
            yield f"Judge: {self._absent} of {len(self.given or ())} turns that files judge are not in this run"
        if among := self.among_judges():
            said = ", ".join(f"{name} {'undefined' if a is None else f'{a:.3f}'}" for name, a in among.items())
            yield f"Judge: Krippendorff's alpha among the judges: {said}"
        if self.human:
            yield from self._compared()

    def _compared(self) -> Iterator[str]:
        found = self.with_people()
        yield from (f"Judge and people, {each.sentence(name)}" for name, each in found.items())
        if missing := [name for name in grouped(self.human) if name not in found]:
            yield f"Judge: people scored {', '.join(missing)}, which nobody judged here"


def _line(opinion: Opinion) -> str:
    fields = {name: getattr(opinion, name) for name in ("turn_id", "criterion", "score", "annotator", "reason")}
    return json.dumps(fields, ensure_ascii=False)
