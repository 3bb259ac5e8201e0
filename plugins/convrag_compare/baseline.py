"""The baseline: the run that all others are compared with."""

from collections.abc import Sequence

from convrag import ConfigError
from convrag_compare.factors import find_factors, format_run, parse_overrides
from convrag_compare.run_result import PARTIAL, RunResult


def find_baseline(results: Sequence[RunResult], wanted: str | None) -> RunResult:
    """Find the first run with the name `wanted`, or with all of its overrides.

    Args:
        results: the runs.
        wanted: a name, or overrides joined with plus signs ("rewriter=none+ranker=bm25"). Without
            it, the first run is the baseline.

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
    """Choose the run to compare with, and write remarks for the report.

    A run without scores cannot be the baseline.

    Args:
        found: the run that `find_baseline` returned.
        results: all runs.
        wanted: the overrides or the name that the user gave, if any.
    """
    if found.has_scores:
        return found, ["The baseline is partial."] if found.state == PARTIAL else []
    if wanted:
        return None, [f"The baseline ({wanted}) has no scores: nothing is compared with it."]
    for result in results:
        if result.has_scores:
            return result, [
                "The first run has no scores: the first one that has some is the baseline."
            ]
    return None, []


def _split_overrides(wanted: str) -> list[str]:
    """Split overrides at plus signs; one in a value (`dataset.domain=a+b`) does not separate."""
    parts: list[str] = []
    for part in wanted.split("+"):
        if "=" in part or not parts:
            parts.append(part)
        elif part:
            parts[-1] += f"+{part}"
    return [part for part in parts if part]
