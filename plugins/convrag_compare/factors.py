"""The factors of a comparison: the overrides in which runs differ, and their levels."""

from collections.abc import Iterable, Sequence

from convrag.sdk.tasks.grids import OPERATIONAL
from convrag_compare.run_result import RunResult

UNSET = "-"
"""The level of a factor that a run does not set."""


def parse_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """Parse overrides into key -> value, without Hydra's quotes.

        dataset.path='/my data' -> {"dataset.path": "/my data"}

    A deletion (`~llm`) has an empty value, and the plus of an addition is dropped.
    """
    parsed = {}
    for override in overrides:
        key, _, value = override.partition("=")
        parsed[key.lstrip("+")] = _unquote(value)
    return parsed


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace(f"\\{value[0]}", value[0])
    return value


def find_factors(results: Sequence[RunResult]) -> dict[str, list[str]]:
    """Find factor -> its levels, both in the order in which they first occur."""
    keys = dict.fromkeys(key for result in results for key in result.choices)
    factors = {}
    for key in keys:
        if key.startswith(OPERATIONAL):
            continue
        levels = list(dict.fromkeys(get_level(result, key) for result in results))
        if len(levels) > 1:
            factors[key] = levels
    return factors


def get_level(result: RunResult, factor: str) -> str:
    """Return the level of a factor in a run."""
    return result.choices.get(factor, UNSET)


def get_levels(result: RunResult, factors: Iterable[str]) -> tuple[str, ...]:
    """Return the levels of several factors in a run."""
    return tuple(get_level(result, factor) for factor in factors)


def format_run(result: RunResult, factors: Iterable[str]) -> str:
    """Format the levels of a run, `rewriter=mmr ranker=bm25`; its name if there are no factors."""
    return " ".join(f"{factor}={get_level(result, factor)}" for factor in factors) or result.name
