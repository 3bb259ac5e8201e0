"""One run as a comparison sees it: its overrides, its summary, and the scores of its turns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from sys import intern

from convrag import RunSummary
from convrag.sdk.jsonl import read_lines
from convrag.sdk.tasks.scores import describe_gaps, label_state, read_summary
from convrag.sdk.types import Usage

OK, PARTIAL, FAILED, NOT_RUN = "ok", "partial", "failed", "not run"


@dataclass
class Scores:
    """The scored turns of a run, as columns of equal length, in the order of the run.

    `measures` holds a column for each measure, with NaN for a turn that lacks it; `numbers` are the positions of the
    turns in their conversations, from 1.
    """

    turns: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    measures: dict[str, array[float]] = field(default_factory=dict)

    def add(self, turn: str, conversation: str, domain: str, number: int, values: Mapping[str, float]) -> None:
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
        name: of its folder, or the id of the cell.
        choices: its overrides, key -> value.
        state: "ok", "partial", "failed" or "not run"; the first two have a summary and scores.
        error: why it failed.
        summary: the means, counts, times and usage of the run.
        scores: of its turns.
        folder: where its files are; None for a run that has none.
        repeated_by: the names of other runs of the same experiment with the same scores, which stand for nothing more.
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
        """Its state for a table; of a partial run with counts."""
        return label_state(self.summary) if self.state == PARTIAL and self.summary else self.state

    @property
    def overall(self) -> Mapping[str, float]:
        """Measure -> mean over the scored turns."""
        return self.summary.overall if self.summary else {}

    @property
    def usage(self) -> Usage:
        """The calls of all stages. Calls of metrics are left out, since they are no cost of the system."""
        spent = self.summary.usage if self.summary else {}
        return sum((usage for stage, usage in spent.items() if not stage.startswith("metrics.")), Usage())

    @property
    def latency(self) -> float:
        """Milliseconds per turn in all stages, as measured; calls whose results were reused took almost none."""
        return self._per_turn(sum(self.summary.timings.values())) if self.summary else nan

    @property
    def full_latency(self) -> float:
        """Milliseconds per turn; a reused call counts with the time that it took when it was made, if that is known."""
        return self.latency + self._per_turn(self.usage.reused_seconds)

    def _per_turn(self, seconds: float) -> float:
        return 1000 * seconds / self.summary.turns if self.summary and self.summary.turns else nan


def parse_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """Overrides as key -> value, without Hydra's quotes: `dataset.path='/my data'` -> {"dataset.path": "/my data"}.

    A deletion (`~llm`) has an empty value, and the plus of an addition is dropped.
    """
    pairs = (override.partition("=") for override in overrides)
    return {key.lstrip("+"): _unquote(value) for key, _, value in pairs}


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace(f"\\{value[0]}", value[0])
    return value


def read_run_result(folder: Path, name: str, choices: Mapping[str, str]) -> RunResult:
    """Read a finished run from its folder; one that failed has no scores. Raises DataError where there is none."""
    summary = read_summary(folder / "metrics.json")
    if summary.state == FAILED:
        return RunResult(name, choices, FAILED, describe_gaps(summary))
    path = folder / "scores.jsonl"
    scores = read_scores(path) if path.exists() else Scores()
    return RunResult(name, choices, summary.state, "", summary, scores, folder)


def read_scores(path: Path) -> Scores:
    """Read the scores of a run's turns from its scores.jsonl. Raises DataError for a broken line."""
    scores = Scores()
    for line in read_lines(path):
        row = line.json()
        try:
            scores.add(row["turn_id"], row["conversation_id"], row["domain"], row["turn"], row["scores"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise line.error(f"these are no scores of a turn ({error!r})") from error
    return scores
