"""A finished run as a comparison sees it: what was chosen, what it came to, and the scores of its turns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from sys import intern

from convrag import RunSummary, Usage
from convrag.score.summary import read_summary
from convrag.sdk.jsonl import read_lines

OK, FAILED, NOT_RUN = "ok", "failed", "not run"


@dataclass
class Scores:
    """The scored turns of a run, in its order, as columns; a measure that a turn lacks is NaN there."""

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
class Outcome:
    """One run. `choices` are its overrides: key -> value. One that did not end well has neither summary nor scores."""

    name: str
    choices: Mapping[str, str]
    state: str = OK
    error: str = ""
    summary: RunSummary | None = None
    scores: Scores = field(default_factory=Scores, repr=False)

    @property
    def overall(self) -> Mapping[str, float]:
        """Measure -> mean over the scored turns."""
        return self.summary.overall if self.summary else {}

    @property
    def usage(self) -> Usage:
        """All calls that its turns took; what metrics asked afterwards is no cost of the system."""
        spent = self.summary.usage if self.summary else {}
        return sum((usage for stage, usage in spent.items() if not stage.startswith("metrics.")), Usage())

    @property
    def latency(self) -> float:
        """Milliseconds of all stages per turn, as it ran; calls whose results were reused took next to none."""
        return self._per_turn(sum(self.summary.timings.values())) if self.summary else nan

    @property
    def full_latency(self) -> float:
        """The same, with what reused calls took when they were made, as far as that is known."""
        return self.latency + self._per_turn(self.usage.reused_seconds)

    def _per_turn(self, seconds: float) -> float:
        return 1000 * seconds / self.summary.turns if self.summary and self.summary.turns else nan


def choices_of(overrides: Sequence[str]) -> dict[str, str]:
    """Overrides as key -> value. A deletion (`~llm`) has an empty value, the plus of an addition is dropped."""
    pairs = (override.partition("=") for override in overrides)
    return {key.lstrip("+"): value for key, _, value in pairs}


def read_outcome(folder: Path, name: str, choices: Mapping[str, str]) -> Outcome:
    """A run that ended well, from its folder. Raises DataError where it holds none."""
    summary = read_summary(folder / "metrics.json")
    path = folder / "scores.jsonl"
    return Outcome(name, choices, summary=summary, scores=read_scores(path) if path.exists() else Scores())


def read_scores(path: Path) -> Scores:
    """The scores of a run's turns. Raises DataError for a broken line."""
    scores = Scores()
    for line in read_lines(path):
        row = line.json()
        try:
            scores.add(row["turn_id"], row["conversation_id"], row["domain"], row["turn"], row["scores"])
        except (ValueError, KeyError, TypeError) as error:
            raise line.error(f"these are no scores of a turn ({error!r})") from error
    return scores
