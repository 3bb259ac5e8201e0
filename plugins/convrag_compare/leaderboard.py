"""The leaderboard: the means of each run with their intervals, and its differences to the baseline
with p-values.
"""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

from convrag_compare.paired_differences import (
    Difference,
    Movement,
    correct_by_holm,
    estimate_differences,
    estimate_mean_intervals,
    find_movements,
    subtract_scores,
)
from convrag_compare.run_result import RunResult, Scores, find_factors


@dataclass(frozen=True)
class Shared:
    """The turns on which runs are compared by some measures, where not all runs were scored on the same ones.

    Args:
        measures: those that have a value for the same turns.
        turns: how many turns have a value in every run; 0 where nothing can be compared.
        all_turns: how many turns have a value in some run.
        of_runs: how many turns have a value in each run, in rising order, each number once.
    """

    measures: tuple[str, ...]
    turns: int
    all_turns: int
    of_runs: tuple[int, ...]


def share_turns(results: Sequence[RunResult]) -> tuple[list[RunResult], list[Shared]]:
    """The runs with the scores of the turns that they share, and the means over these.

    A run that was not measured by a measure at all takes no turn of it from the others. Where no
    turn is shared, each run keeps its own. A measure that is no mean over turns (corpus BLEU)
    cannot be computed for fewer turns, and is left out where the turns that it comes from differ.

    Returns:
        The runs, and what they share for each group of measures whose turns differ; empty where all
        are equal.
    """
    kept: dict[str, set[str]] = {}
    groups: dict[tuple[int, int, tuple[int, ...]], list[str]] = defaultdict(list)
    for measure in dict.fromkeys(name for result in results for name in result.scores.measures):
        scored = [
            turns for result in results if (turns := _list_scored_turns(result.scores, measure))
        ]
        shared = set.intersection(*scored) if scored else set()
        if any(turns != shared for turns in scored):
            counts = tuple(sorted({len(turns) for turns in scored}))
            groups[len(shared), len(set.union(*scored)), counts].append(measure)
            kept[measure] = shared
    if not kept:
        return list(results), []
    return [_restrict(result, kept) for result in results], [
        Shared(tuple(m), *key) for key, m in groups.items()
    ]


def _list_scored_turns(scores: Scores, measure: str) -> set[str]:
    return {
        turn
        for turn, value in zip(scores.turns, scores.measures.get(measure, ()), strict=False)
        if value == value
    }


def _restrict(result: RunResult, kept: dict[str, set[str]]) -> RunResult:
    """A run with nothing but the shared turns in the columns of some measures (none: the column
    stays).
    """
    if result.summary is None:
        return result
    summary, scores = result.summary, result.scores
    columns = dict(scores.measures)
    changed = [measure for measure, turns in kept.items() if turns and measure in columns]
    for measure in changed:
        values = zip(scores.turns, columns[measure], strict=True)
        columns[measure] = array(
            "d", [value if turn in kept[measure] else nan for turn, value in values]
        )
    restricted = Scores(scores.turns, scores.conversations, scores.domains, scores.numbers, columns)
    counts_differ = any(measure not in summary.overall for measure in kept)
    concluded = {measure for measure in summary.overall if measure not in columns and counts_differ}

    def compute_means(before: dict[str, float], domain: str) -> dict[str, float]:
        means = {name: value for name, value in before.items() if name not in concluded}
        for measure in changed:
            if measure in summary.overall:
                means[measure] = _compute_mean(restricted, measure, domain)
        return {name: mean for name, mean in means.items() if mean == mean}

    places = {
        domain: compute_means(dict(means), domain) for domain, means in summary.domains.items()
    }
    summary = replace(summary, overall=compute_means(dict(summary.overall), ""), domains=places)
    return replace(result, summary=summary, scores=restricted)


def _compute_mean(scores: Scores, measure: str, domain: str) -> float:
    columns = zip(scores.measures[measure], scores.domains, strict=True)
    values = [
        value for value, place in columns if value == value and (not domain or place == domain)
    ]
    return sum(values) / len(values) if values else nan


def describe_shared(groups: Sequence[Shared], measures: Collection[str]) -> Iterator[str]:
    """A sentence on each group that has one of these measures: "40 of 396 scored turns are shared
    by all runs...".
    """
    for group in groups:
        if not (concerned := [measure for measure in group.measures if measure in measures]):
            continue
        of = f"{', '.join(concerned)}: " if len(groups) > 1 else ""
        have = f"the runs have {_join(group.of_runs)}"
        if group.turns:
            shared = (
                f"{group.turns} of {group.all_turns} scored turns are shared by all runs ({have})"
            )
            yield f"{of}{shared}: all means are over these."
        else:
            none = f"{'no' if of else 'No'} scored turn is shared by all runs ({have})"
            yield f"{of}{none}: they cannot be compared. {_OWN_TURNS}"


_OWN_TURNS = "Each mean is over the turns of its own run, and the runs stand in the order in which they were given."


def _join(counts: Sequence[int]) -> str:
    shown = [str(count) for count in counts]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


@dataclass(frozen=True)
class Score:
    """A run by one measure.

    Args:
        mean: of the measure; NaN for a run that was not measured by it.
        low: the lower end of the mean's 95 % interval; NaN over fewer than five conversations.
        high: its upper end.
        domains: for each domain, the mean of the measure and the ends of its interval.
        difference: to the baseline; None for the baseline itself, and for a run that shares no
            scored turn with it.
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
        measures: all that some run was measured by; `metrics` come first.
        domains: those with a mean of their own; empty where there is but one.
        rows: the runs, best first; those that failed come last.
        baseline: the run that the others are compared with, if any.
        movements: factor -> which measures differ between runs that differ in this factor alone.
        shared: the turns on which runs are compared that were scored on different ones.
        left_out: measures that no run has for the turns that all share, since they are no means
            over turns.
    """

    metrics: list[str]
    factors: dict[str, list[str]]
    measures: list[str]
    domains: list[str]
    rows: list[Row]
    baseline: RunResult | None
    movements: Mapping[str, Movement]
    shared: Sequence[Shared]
    left_out: Sequence[str] = ()

    def list_differing(self) -> list[str]:
        """The compared measures by which not all runs are equal; the first one where all are."""
        found = [
            name
            for name in self.metrics
            if len({row.result.overall.get(name) for row in self.rows}) > 1
        ]
        return found or self.metrics[:1]


def build_leaderboard(
    results: Sequence[RunResult], metrics: Sequence[str], baseline: RunResult | None
) -> Leaderboard:
    """Compare runs by some measures, each with the baseline where there is one.

    Args:
        results: in the order of the grid.
        metrics: the measures to compare by; the first one decides the order.
        baseline: one of them that has scores.
    """
    place = next((index for index, result in enumerate(results) if result is baseline), None)
    unshared = results
    results, shared = share_turns(results)
    left_out = [
        name for name in metrics if _is_measured(name, unshared) and not _is_measured(name, results)
    ]
    metrics = [name for name in metrics if name not in left_out]
    baseline = None if place is None else results[place]
    domains = list(
        dict.fromkeys(name for each in results if each.summary for name in each.summary.domains)
    )
    domains = domains if len(domains) > 1 else []
    by_measure = {measure: _score_runs(results, measure, domains, baseline) for measure in metrics}
    rows = [
        Row(result, {measure: scores[index] for measure, scores in by_measure.items()})
        for index, result in enumerate(results)
    ]
    names = dict.fromkeys([*metrics, *(name for result in results for name in result.overall)])
    factors = find_factors(results)
    incomparable = {name for group in shared if not group.turns for name in group.measures}
    ordering = [name for name in metrics if name not in incomparable]
    return Leaderboard(
        metrics=list(metrics),
        factors=factors,
        measures=list(names),
        domains=domains,
        rows=rows
        if metrics and metrics[0] in incomparable
        else sorted(rows, key=lambda row: _rank(row, ordering)),
        baseline=baseline,
        movements=find_movements(results, factors, list(names)),
        shared=shared,
        left_out=left_out,
    )


def _is_measured(measure: str, results: Sequence[RunResult]) -> bool:
    return any(measure in result.overall for result in results)


def _score_runs(
    results: Sequence[RunResult], measure: str, domains: Sequence[str], baseline: RunResult | None
) -> list[Score]:
    """The score of each run by one measure."""
    runs = [result.scores for result in results]
    overall = estimate_mean_intervals(runs, measure)
    places = {domain: estimate_mean_intervals(runs, measure, domain) for domain in domains}
    comparisons = _compare_with_baseline(results, baseline, measure)
    scores = []
    for index, result in enumerate(results):
        by_domain = {
            name: (_get_domain_mean(result, measure, name), *found[index])
            for name, found in places.items()
        }
        compared = comparisons.get(id(result), (None, nan))
        scores.append(
            Score(result.overall.get(measure, nan), *overall[index], by_domain, *compared)
        )
    return scores


def _compare_with_baseline(
    results: Sequence[RunResult], baseline: RunResult | None, measure: str
) -> dict[int, tuple[Difference | None, float]]:
    """The difference of each run to the baseline, and its corrected p-value; by the id() of the
    run.

    The baseline itself is absent, and so are runs without scores.
    """
    others = [
        result for result in results if baseline and result is not baseline and result.has_scores
    ]
    pairs = [
        subtract_scores(result.scores, baseline.scores, measure) for result in others if baseline
    ]
    found = estimate_differences(pairs, measure)
    p_values = [each.p if each else nan for each in found]
    corrected = correct_by_holm(p_values, [each.measures.get(measure) for each in pairs])
    return {id(result): (each, p) for result, each, p in zip(others, found, corrected, strict=True)}


def _get_domain_mean(result: RunResult, measure: str, domain: str) -> float:
    return result.summary.domains.get(domain, {}).get(measure, nan) if result.summary else nan


def _rank(row: Row, measures: Sequence[str]) -> tuple[bool, list[float], list[str]]:
    """The best run by the first measure comes first, of equal ones the best by the next; failed
    ones come last.
    """
    means = [row.scores[measure].mean for measure in measures]
    overrides = [f"{key}={value}" for key, value in row.result.choices.items()]
    return (
        not row.result.has_scores,
        [-mean if mean == mean else 1e300 for mean in means],
        overrides,
    )
