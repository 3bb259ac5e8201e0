"""The leaderboard: the means of each run with intervals, and differences to the baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

from convrag_compare.factor_effects import FactorEffect, find_effects
from convrag_compare.factors import find_factors
from convrag_compare.paired_differences import (
    Difference,
    estimate_differences,
    estimate_mean_intervals,
    subtract_scores,
)
from convrag_compare.run_result import RunResult
from convrag_compare.shared_turns import Shared, share_turns
from convrag_compare.significance import correct_by_holm


@dataclass(frozen=True)
class Score:
    """The score of a run by one measure.

    Args:
        mean: the mean of the measure; NaN for a run that was not measured by it.
        low: the lower end of the mean's 95 % interval; NaN over fewer than five conversations.
        high: its upper end.
        domains: for each domain, the mean of the measure and the ends of its interval.
        difference: the difference to the baseline; None for the baseline itself, and for a run that
            shares no scored turn with it.
        corrected: the p-value of the difference, corrected by Holm's method.
    """

    mean: float = nan
    low: float = nan
    high: float = nan
    domains: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    difference: Difference | None = None
    corrected: float = nan


@dataclass(frozen=True)
class Row:
    """One run of a leaderboard, with its score by each measure that the leaderboard compares."""

    result: RunResult
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class Leaderboard:
    """The compared runs.

    Args:
        metrics: the measures by which they are compared; the first one orders them. Empty where
            nothing was measured.
        factors: factor -> its levels.
        measures: all measures that some run has; `metrics` come first.
        domains: the domains with a mean of their own; empty where there is only one.
        rows: the runs, best first; failed ones come last.
        baseline: the run that the others are compared with, if any.
        effects: factor -> which measures differ between runs that differ in this factor alone.
        shared: the turns on which runs are compared that were scored on different ones.
        left_out: measures that no run has for the turns that all share, since they are not means
            over turns.
    """

    metrics: list[str]
    factors: dict[str, list[str]]
    measures: list[str]
    domains: list[str]
    rows: list[Row]
    baseline: RunResult | None
    effects: Mapping[str, FactorEffect]
    shared: Sequence[Shared]
    left_out: Sequence[str] = ()

    def list_differing(self) -> list[str]:
        """List the compared measures by which runs differ; the first one if they are all equal."""
        differing = []
        for name in self.metrics:
            means = {row.result.overall.get(name) for row in self.rows}
            if len(means) > 1:
                differing.append(name)
        return differing or self.metrics[:1]


def build_leaderboard(
    results: Sequence[RunResult], metrics: Sequence[str], baseline: RunResult | None
) -> Leaderboard:
    """Compare runs by some measures, each with the baseline where there is one.

    Args:
        results: the runs, in the order of the grid.
        metrics: the measures to compare by; the first one decides the order.
        baseline: one of the runs, with scores.
    """
    restricted, shared = share_turns(results)
    left_out = [
        name
        for name in metrics
        if _has_measure(results, name) and not _has_measure(restricted, name)
    ]
    metrics = [name for name in metrics if name not in left_out]
    for before, after in zip(results, restricted, strict=True):
        if before is baseline:
            baseline = after
            break

    domains = _list_domains(restricted)
    by_measure = {
        measure: _score_runs(restricted, measure, domains, baseline) for measure in metrics
    }
    rows = [
        Row(result, {measure: scores[place] for measure, scores in by_measure.items()})
        for place, result in enumerate(restricted)
    ]
    factors = find_factors(restricted)
    measures = list(
        dict.fromkeys([*metrics, *(name for result in restricted for name in result.overall)])
    )
    return Leaderboard(
        metrics=metrics,
        factors=factors,
        measures=measures,
        domains=domains,
        rows=_sort_rows(rows, metrics, shared),
        baseline=baseline,
        effects=find_effects(restricted, factors, measures),
        shared=shared,
        left_out=left_out,
    )


def _has_measure(results: Sequence[RunResult], measure: str) -> bool:
    return any(measure in result.overall for result in results)


def _list_domains(results: Sequence[RunResult]) -> list[str]:
    """List the domains of all runs; none where there is only one."""
    names: dict[str, None] = {}
    for result in results:
        if result.summary:
            names |= dict.fromkeys(result.summary.domains)
    return list(names) if len(names) > 1 else []


def _score_runs(
    results: Sequence[RunResult], measure: str, domains: Sequence[str], baseline: RunResult | None
) -> list[Score]:
    """Score each run by one measure."""
    runs = [result.scores for result in results]
    intervals = estimate_mean_intervals(runs, measure)
    by_domain = {domain: estimate_mean_intervals(runs, measure, domain) for domain in domains}
    comparisons = _compare_with_baseline(results, baseline, measure)
    scores = []
    for place, result in enumerate(results):
        low, high = intervals[place]
        domain_scores = {
            domain: (_get_domain_mean(result, measure, domain), *domain_intervals[place])
            for domain, domain_intervals in by_domain.items()
        }
        difference, corrected = comparisons[place]
        scores.append(
            Score(
                mean=result.overall.get(measure, nan),
                low=low,
                high=high,
                domains=domain_scores,
                difference=difference,
                corrected=corrected,
            )
        )
    return scores


def _compare_with_baseline(
    results: Sequence[RunResult], baseline: RunResult | None, measure: str
) -> list[tuple[Difference | None, float]]:
    """Return the difference of each run to the baseline, and its corrected p-value.

    The baseline itself and runs without scores have no difference, and NaN.
    """
    comparisons: list[tuple[Difference | None, float]] = [(None, nan)] * len(results)
    if baseline is None:
        return comparisons
    places = [
        place
        for place, result in enumerate(results)
        if result is not baseline and result.has_scores
    ]
    pairs = [subtract_scores(results[place].scores, baseline.scores, measure) for place in places]
    differences = estimate_differences(pairs, measure)
    p_values = [nan if found is None else found.p for found in differences]
    corrected = correct_by_holm(p_values, [pair.measures.get(measure) for pair in pairs])
    for place, difference, p in zip(places, differences, corrected, strict=True):
        comparisons[place] = (difference, p)
    return comparisons


def _get_domain_mean(result: RunResult, measure: str, domain: str) -> float:
    if result.summary is None:
        return nan
    return result.summary.domains.get(domain, {}).get(measure, nan)


def _sort_rows(rows: list[Row], metrics: Sequence[str], shared: Sequence[Shared]) -> list[Row]:
    """Sort runs by the measures; they stay as given where the first one cannot be compared."""
    incomparable = {name for group in shared if not group.turns for name in group.measures}
    if metrics and metrics[0] in incomparable:
        return rows
    ordering = [name for name in metrics if name not in incomparable]
    return sorted(rows, key=lambda row: _make_sort_key(row, ordering))


def _make_sort_key(row: Row, measures: Sequence[str]) -> tuple[bool, list[float], list[str]]:
    """Make a key that sorts runs by one measure after the other, best first, failed ones last."""
    means = [row.scores[measure].mean for measure in measures]
    descending = [1e300 if isnan(mean) else -mean for mean in means]
    overrides = [f"{key}={value}" for key, value in row.result.choices.items()]
    return not row.result.has_scores, descending, overrides
