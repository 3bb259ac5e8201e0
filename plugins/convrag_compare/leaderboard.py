"""The leaderboard: every run's scores with an interval, and its difference to the baseline with a p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from convrag_compare.factors import factors_of
from convrag_compare.outcome import OK, Outcome
from convrag_compare.paired import Difference, compare, less, mean_intervals
from convrag_compare.significance import holm


@dataclass(frozen=True)
class Row:
    """One run. `mean` is NaN for one without scores; `difference` is None for the baseline, and without shared turns.

    `domains` holds for each domain the mean of the metric and its interval; `corrected` is Holm's p-value.
    """

    outcome: Outcome
    mean: float
    low: float
    high: float
    domains: dict[str, tuple[float, float, float]]
    difference: Difference | None = None
    corrected: float = nan


@dataclass(frozen=True)
class Leaderboard:
    """All runs, best first; those that failed come last."""

    metric: str
    factors: dict[str, list[str]]
    measures: list[str]
    domains: list[str]
    rows: list[Row]
    baseline: Outcome | None


def rank(outcomes: Sequence[Outcome], metric: str, baseline: Outcome | None) -> Leaderboard:
    """Compare runs by a metric, each with the baseline where there is one.

    Args:
        outcomes: in the order of the grid.
        metric: the measure that decides.
        baseline: one of them that ended well.
    """
    runs = [outcome.scores for outcome in outcomes]
    overall = mean_intervals(runs, metric)
    domains = list(dict.fromkeys(name for each in outcomes if each.summary for name in each.summary.domains))
    places = {domain: mean_intervals(runs, metric, domain) for domain in domains} if len(domains) > 1 else {}
    compared = _against(outcomes, baseline, metric)
    corrected = holm([difference.p if difference else nan for difference in compared])
    rows = []
    for index, outcome in enumerate(outcomes):
        by_domain = {place: (_mean(outcome, metric, place), *found[index]) for place, found in places.items()}
        mean = outcome.overall.get(metric, nan)
        rows.append(Row(outcome, mean, *overall[index], by_domain, compared[index], corrected[index]))
    return Leaderboard(
        metric=metric,
        factors=factors_of(outcomes),
        measures=list(dict.fromkeys(name for outcome in outcomes for name in outcome.overall)),
        domains=list(places),
        rows=sorted(rows, key=_place),
        baseline=baseline,
    )


def _against(outcomes: Sequence[Outcome], baseline: Outcome | None, metric: str) -> list[Difference | None]:
    """Each run's difference to the baseline; none for the baseline itself, and for what has no scores."""
    others = [outcome for outcome in outcomes if baseline and outcome is not baseline and outcome.state == OK]
    differences = [less(outcome.scores, baseline.scores, metric) for outcome in others if baseline]
    found = {id(outcome): each for outcome, each in zip(others, compare(differences, metric), strict=True)}
    return [found.get(id(outcome)) for outcome in outcomes]


def _mean(outcome: Outcome, metric: str, domain: str) -> float:
    return outcome.summary.domains.get(domain, {}).get(metric, nan) if outcome.summary else nan


def _place(row: Row) -> tuple[bool, float, list[str]]:
    """Sorts the best first; what has no score, and what failed, last; equal ones by their overrides."""
    mean = -row.mean if row.mean == row.mean else 1e300
    return row.outcome.state != OK, mean, [f"{key}={value}" for key, value in row.outcome.choices.items()]
