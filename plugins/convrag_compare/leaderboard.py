"""The leaderboard: the mean of each run with its interval, and its difference to the baseline with a p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from convrag_compare.factors import find_factors
from convrag_compare.paired_differences import (
    Difference,
    estimate_differences,
    estimate_mean_intervals,
    subtract_scores,
)
from convrag_compare.run_result import RunResult
from convrag_compare.significance import correct_by_holm


@dataclass(frozen=True)
class Row:
    """One run of a leaderboard.

    Args:
        result: the run.
        mean: of the metric; NaN for a run without scores.
        low: the lower end of the mean's 95 % interval.
        high: its upper end.
        domains: for each domain, the mean of the metric and the ends of its interval.
        difference: to the baseline; None for the baseline itself, and for a run that shares no scored turn with it.
        corrected: the p-value of the difference, corrected by Holm's method.
    """

    result: RunResult
    mean: float
    low: float
    high: float
    domains: dict[str, tuple[float, float, float]]
    difference: Difference | None = None
    corrected: float = nan


@dataclass(frozen=True)
class Leaderboard:
    """The compared runs.

    Args:
        metric: the measure that decides.
        factors: factor -> its levels.
        measures: all that some run was measured by.
        domains: those with a mean of their own; empty where there is but one.
        rows: the runs, best first; those that failed come last.
        baseline: the run that the others are compared with, if any.
    """

    metric: str
    factors: dict[str, list[str]]
    measures: list[str]
    domains: list[str]
    rows: list[Row]
    baseline: RunResult | None


def build_leaderboard(results: Sequence[RunResult], metric: str, baseline: RunResult | None) -> Leaderboard:
    """Compare runs by a metric, each with the baseline where there is one.

    Args:
        results: in the order of the grid.
        metric: the measure that decides.
        baseline: one of them that has scores.
    """
    runs = [result.scores for result in results]
    overall = estimate_mean_intervals(runs, metric)
    domains = list(dict.fromkeys(name for each in results if each.summary for name in each.summary.domains))
    places = {domain: estimate_mean_intervals(runs, metric, domain) for domain in domains} if len(domains) > 1 else {}
    differences = _compare_with_baseline(results, baseline, metric)
    corrected = correct_by_holm([difference.p if difference else nan for difference in differences])
    rows = []
    for index, result in enumerate(results):
        by_domain = {place: (_get_domain_mean(result, metric, place), *found[index]) for place, found in places.items()}
        mean = result.overall.get(metric, nan)
        rows.append(Row(result, mean, *overall[index], by_domain, differences[index], corrected[index]))
    return Leaderboard(
        metric=metric,
        factors=find_factors(results),
        measures=list(dict.fromkeys(name for result in results for name in result.overall)),
        domains=list(places),
        rows=sorted(rows, key=_make_sort_key),
        baseline=baseline,
    )


def _compare_with_baseline(
    results: Sequence[RunResult], baseline: RunResult | None, metric: str
) -> list[Difference | None]:
    """The difference of each run to the baseline; None for the baseline itself, and for a run without scores."""
    others = [result for result in results if baseline and result is not baseline and result.has_scores]
    pairs = [subtract_scores(result.scores, baseline.scores, metric) for result in others if baseline]
    found = {id(result): each for result, each in zip(others, estimate_differences(pairs, metric), strict=True)}
    return [found.get(id(result)) for result in results]


def _get_domain_mean(result: RunResult, metric: str, domain: str) -> float:
    return result.summary.domains.get(domain, {}).get(metric, nan) if result.summary else nan


def _make_sort_key(row: Row) -> tuple[bool, float, list[str]]:
    """The best run comes first, then runs without scores, then those that failed; ties go by the overrides."""
    mean = -row.mean if row.mean == row.mean else 1e300
    return not row.result.has_scores, mean, [f"{key}={value}" for key, value in row.result.choices.items()]
