"""One run as a comparison sees it, and the factors, which are the overrides in which runs differ."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from sys import intern

from convrag import ConfigError, RunSummary
from convrag.sdk.tasks.grids import OPERATIONAL
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
        name: of its folder, or the id of the cell.
        choices: its overrides, key -> value.
        state: "ok", "partial", "failed" or "not run"; the first two have a summary and scores.
        error: why it failed.
        summary: the means, counts, times and usage of the run.
        scores: of its turns.
        folder: where its files are; None for a run that has none.
        repeated_by: the names of other runs of the same experiment with the same scores, which
            stand for nothing more.
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
        """The calls of all stages. Calls of metrics are left out, since they are no cost of the
        system.
        """
        spent = self.summary.usage if self.summary else {}
        return sum(
            (usage for stage, usage in spent.items() if not stage.startswith("metrics.")), Usage()
        )

    @property
    def latency(self) -> float:
        """Milliseconds per turn in all stages, as measured; calls whose results were reused took
        almost none.
        """
        return self.per_thousand_turns(sum(self.summary.timings.values())) if self.summary else nan

    @property
    def full_latency(self) -> float:
        """Milliseconds per turn; a reused call counts with the time that it took when it was made,
        if that is known.
        """
        return self.latency + self.per_thousand_turns(self.usage.reused_seconds)

    def per_thousand_turns(self, amount: float) -> float:
        """An amount of the whole run per 1,000 turns, as seconds are milliseconds per turn; nan
        without a turn.
        """
        return 1000 * amount / self.summary.turns if self.summary and self.summary.turns else nan


def parse_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """Overrides as key -> value, without Hydra's quotes: `dataset.path='/my data'` ->
    {"dataset.path": "/my data"}.

    A deletion (`~llm`) has an empty value, and the plus of an addition is dropped.
    """
    pairs = (override.partition("=") for override in overrides)
    return {key.lstrip("+"): _unquote(value) for key, _, value in pairs}


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace(f"\\{value[0]}", value[0])
    return value


def read_run_result(folder: Path, name: str, choices: Mapping[str, str]) -> RunResult:
    """Read a finished run from its folder; one that failed has no scores. Raises DataError where
    there is none.
    """
    summary = read_summary(folder / "metrics.json")
    if summary.state == FAILED:
        return RunResult(name, choices, FAILED, describe_gaps(summary))
    path = folder / "scores.jsonl"
    scores = read_scores(path) if path.exists() else Scores()
    return RunResult(name, choices, summary.state, "", summary, scores, folder)


def read_scores(path: Path) -> Scores:
    """Read the scores of a run's turns from its scores.jsonl. Raises DataError for a broken line."""
    scores = Scores()
    for turn in read_scored_turns(path):
        scores.add(turn.turn_id, turn.conversation_id, turn.domain, turn.turn, turn.scores)
    return scores


UNSET = "-"
"""The level of a factor that a run does not set."""


def find_factors(results: Sequence[RunResult]) -> dict[str, list[str]]:
    """Factor -> its levels, both in the order in which they first occur."""
    keys = dict.fromkeys(
        key for result in results for key in result.choices if not key.startswith(OPERATIONAL)
    )
    levels = {
        key: list(dict.fromkeys(get_level(result, key) for result in results)) for key in keys
    }
    return {key: found for key, found in levels.items() if len(found) > 1}


def get_level(result: RunResult, factor: str) -> str:
    """The level of a factor in a run."""
    return result.choices.get(factor, UNSET)


def format_run(result: RunResult, factors: Iterable[str]) -> str:
    """The levels of a run as a text, `rewriter=mmr ranker=bm25`; its name where there are no
    factors.
    """
    return " ".join(f"{factor}={get_level(result, factor)}" for factor in factors) or result.name


def get_levels(result: RunResult, factors: Iterable[str]) -> tuple[str, ...]:
    """The levels of several factors in a run."""
    return tuple(get_level(result, factor) for factor in factors)


def find_baseline(results: Sequence[RunResult], wanted: str | None) -> RunResult:
    """The first run that has all overrides of `wanted` ("rewriter=none+ranker=bm25"), or has it for
    a name.

    Without `wanted` it is the first run.

    Raises:
        ConfigError: no run has them; the message lists the runs.
    """
    if not wanted:
        return results[0]
    asked = parse_overrides(_split_overrides(wanted))
    for result in results:
        if result.name == wanted or asked.items() <= result.choices.items():
            return result
    factors = find_factors(results)
    names = "\n".join(f"  {format_run(result, factors).replace(' ', '+')}" for result in results)
    raise ConfigError(
        f"sweep.baseline={wanted}: no cell has these overrides. The cells are:\n{names}"
    )


def settle_baseline(
    found: RunResult, results: Sequence[RunResult], wanted: str | None
) -> tuple[RunResult | None, list[str]]:
    """The run to compare with, and remarks for the report: a run without scores is no baseline.

    Args:
        found: as `find_baseline` gave it.
        results: all runs.
        wanted: the overrides or the name that the user gave, if any.
    """
    if found.has_scores:
        return found, ["The baseline is partial."] if found.state == PARTIAL else []
    if wanted:
        return None, [f"The baseline ({wanted}) has no scores: nothing is compared with it."]
    first = next((result for result in results if result.has_scores), None)
    return first, [
        "The first run has no scores: the first one that has some is the baseline."
    ] if first else []


def _split_overrides(wanted: str) -> list[str]:
    """Overrides that are joined with plus signs; a plus sign in a value (`dataset.domain=a+b`)
    separates nothing.
    """
    parts: list[str] = []
    for part in wanted.split("+"):
        if "=" in part or not parts:
            parts.append(part)
        elif part:
            parts[-1] += f"+{part}"
    return [part for part in parts if part]
