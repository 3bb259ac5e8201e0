"""The factors of a comparison, which are the overrides in which runs differ; runs are labelled by their levels."""

from collections.abc import Iterable, Sequence

from convrag import ConfigError
from convrag.sdk.tasks.grids import OPERATIONAL
from convrag_compare.run_result import PARTIAL, RunResult, parse_overrides

UNSET = "-"
"""The level of a factor that a run does not set."""


def find_factors(results: Sequence[RunResult]) -> dict[str, list[str]]:
    """Factor -> its levels, both in the order in which they first occur."""
    keys = dict.fromkeys(key for result in results for key in result.choices if not key.startswith(OPERATIONAL))
    levels = {key: list(dict.fromkeys(get_level(result, key) for result in results)) for key in keys}
    return {key: found for key, found in levels.items() if len(found) > 1}


def get_level(result: RunResult, factor: str) -> str:
    """The level of a factor in a run."""
    return result.choices.get(factor, UNSET)


def format_run(result: RunResult, factors: Iterable[str]) -> str:
    """The levels of a run as a text, `rewriter=mmr ranker=bm25`; its name where there are no factors."""
    return " ".join(f"{factor}={get_level(result, factor)}" for factor in factors) or result.name


def get_levels(result: RunResult, factors: Iterable[str]) -> tuple[str, ...]:
    """The levels of several factors in a run."""
    return tuple(get_level(result, factor) for factor in factors)


def find_baseline(results: Sequence[RunResult], wanted: str | None) -> RunResult:
    """The first run that has all overrides of `wanted` ("rewriter=none+ranker=bm25"), or has it for a name.

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
    raise ConfigError(f"sweep.baseline={wanted}: no cell has these overrides. The cells are:\n{names}")


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
    return first, ["The first run has no scores: the first one that has some is the baseline."] if first else []


def _split_overrides(wanted: str) -> list[str]:
    """Overrides that are joined with plus signs; a plus sign in a value (`dataset.domain=a+b`) separates nothing."""
    parts: list[str] = []
    for part in wanted.split("+"):
        if "=" in part or not parts:
            parts.append(part)
        elif part:
            parts[-1] += f"+{part}"
    return [part for part in parts if part]
