"""One run as a comparison sees it, with the scores of its turns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from sys import intern

from convrag import RunSummary
from convrag.sdk.tasks.runs import read_scores as read_scored_turns
from convrag.sdk.tasks.scores import describe_gaps, label_state, read_summary
from convrag.sdk.types import Usage

OK, PARTIAL, FAILED, NOT_RUN = "ok", "partial", "failed", "not run"


@dataclass
class Scores:
    """The scored turns of a run, as columns of equal length, in the order of the run.

    `measures` holds a column for each measure, with NaN for a turn that lacks it; `numbers` are the
    positions of the turns in their conversations, from 1.
    """

    turns: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    measures: dict[str, array[float]] = field(default_factory=dict)

    def add(
        self, turn: str, conversation: str, domain: str, number: int, values: Mapping[str, float]
    ) -> None:
        """Append a turn."""
        for name in values:
            self.measures.setdefault(name, array("d", [nan]) * len(self.turns))
        for name, column in self.measures.items():
            column.append(values.get(name, nan))
        self.turns.append(intern(turn))
        self.conversations.append(intern(conversation))
        self.domains.append(intern(domain))
        self.numbers.append(number)


@dataclass(frozen=True)
class RunResult:
    """A run of a grid, or any finished run.

    Args:
        name: the name of its folder, or the id of the cell.
        choices: its overrides, key -> value.
        state: "ok", "partial", "failed" or "not run"; the first two have a summary and scores.
        error: why it failed.
        summary: the means, counts, times and usage of the run.
        scores: the scores of its turns.
        folder: where its files are; None for a run that has none.
        repeated_by: the names of other runs of the same experiment with the same scores, which add
            nothing.
    """

    name: str
    choices: Mapping[str, str]
    state: str = OK
    error: str = ""
    summary: RunSummary | None = None
    scores: Scores = field(default_factory=Scores, repr=False)
    folder: Path | None = None
    repeated_by: tuple[str, ...] = ()

    @property
    def has_scores(self) -> bool:
        """Whether it ended with turns that can be compared."""
        return self.state in (OK, PARTIAL)

    @property
    def label(self) -> str:
        """Its state for a table; a partial run's has counts."""
        if self.state == PARTIAL and self.summary:
            return label_state(self.summary)
        return self.state

    @property
    def overall(self) -> Mapping[str, float]:
        """Measure -> mean over the scored turns."""
        return self.summary.overall if self.summary else {}

    @property
    def usage(self) -> Usage:
        """The calls of all stages. Calls of metrics do not count as costs of the system."""
        by_stage = self.summary.usage if self.summary else {}
        total = Usage()
        for stage, usage in by_stage.items():
            if not stage.startswith("metrics."):
                total += usage
        return total

    @property
    def latency(self) -> float:
        """Measured milliseconds per turn in all stages; reused calls took almost none."""
        if self.summary is None:
            return nan
        return self.per_thousand_turns(sum(self.summary.timings.values()))

    @property
    def full_latency(self) -> float:
        """Milliseconds per turn, where reused calls count with the time that they once took."""
        return self.latency + self.per_thousand_turns(self.usage.reused_seconds)

    def per_thousand_turns(self, amount: float) -> float:
        """Divide an amount of the whole run by its thousands of turns; NaN without a turn.

        Seconds of a run become milliseconds per turn.
        """
        if self.summary is None or not self.summary.turns:
            return nan
        return 1000 * amount / self.summary.turns


def read_run_result(folder: Path, name: str, choices: Mapping[str, str]) -> RunResult:
    """Read a finished run from its folder; a failed run has no scores.

    Raises:
        DataError: the folder has no finished run, or a broken one.
    """
    summary = read_summary(folder / "metrics.json")
    if summary.state == FAILED:
        return RunResult(name, choices, FAILED, describe_gaps(summary))
    path = folder / "scores.jsonl"
    scores = _read_scores(path) if path.exists() else Scores()
    return RunResult(name, choices, summary.state, "", summary, scores, folder)


def _read_scores(path: Path) -> Scores:
    """Read the scores of a run's turns. Raises DataError for a broken line."""
    scores = Scores()
    for turn in read_scored_turns(path):
        scores.add(turn.turn_id, turn.conversation_id, turn.domain, turn.turn, turn.scores)
    return scores
