"""The factors of a comparison, which are the overrides in which runs differ; runs are labelled by their levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convrag import ConfigError
from convrag.sweep.sweep import OPERATIONAL
from convrag_compare.run_result import RunResult, choices_of

UNSET = "-"
"""The level of a factor that a run does not set."""


def factors_of(results: Sequence[RunResult]) -> dict[str, list[str]]:
    """Factor -> its levels, both in the order in which they first occur."""
    keys = dict.fromkeys(key for result in results for key in result.choices if not key.startswith(OPERATIONAL))
    levels = {key: list(dict.fromkeys(level_of(result, key) for result in results)) for key in keys}
    return {key: found for key, found in levels.items() if len(found) > 1}


def level_of(result: RunResult, factor: str) -> str:
    """The level of a factor in a run."""
    return result.choices.get(factor, UNSET)


def run_label(result: RunResult, factors: Iterable[str]) -> str:
    """The levels of a run as a text, `rewriter=mmr ranker=bm25`; its name where there are no factors."""
    return " ".join(f"{factor}={level_of(result, factor)}" for factor in factors) or result.name


def levels_of(result: RunResult, factors: Iterable[str]) -> tuple[str, ...]:
    """The levels of several factors in a run."""
    return tuple(level_of(result, factor) for factor in factors)


def find_baseline(results: Sequence[RunResult], wanted: str | None) -> RunResult:
    """The first run that has all overrides of `wanted` ("rewriter=none+ranker=bm25"), or has it for a name.

    Without `wanted` it is the first run.

    Raises:
        ConfigError: no run has them; the message lists the runs.
    """
    if not wanted:
        return results[0]
    asked = choices_of(_split_overrides(wanted))
    for result in results:
        if result.name == wanted or asked.items() <= result.choices.items():
            return result
    factors = factors_of(results)
    names = "\n".join(f"  {run_label(result, factors).replace(' ', '+')}" for result in results)
    raise ConfigError(f"sweep.baseline={wanted}: no cell has these overrides. The cells are:\n{names}")


def _split_overrides(wanted: str) -> list[str]:
    """Overrides that are joined with plus signs; a plus sign in a value (`dataset.domain=a+b`) separates nothing."""
    parts: list[str] = []
    for part in wanted.split("+"):
        if "=" in part or not parts:
            parts.append(part)
        elif part:
            parts[-1] += f"+{part}"
    return [part for part in parts if part]
