"""Which measures a factor moves: those in which two runs differ that differ in this factor alone."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from convrag_compare.factors import get_level, get_levels
from convrag_compare.paired_differences import subtract_scores
from convrag_compare.run_result import RunResult

_LEAST = 1e-12  # a smaller difference is one of rounding
_LISTED = 6


@dataclass(frozen=True)
class Movement:
    """What a factor does to the measures.

    Args:
        pairs: how many pairs of runs differ in this factor alone; with none, nothing is known.
        moved: the measures in which the runs of a pair differ, in some turn.
        unmoved: the measures in which no pair differs.
    """

    pairs: int
    moved: tuple[str, ...] = ()
    unmoved: tuple[str, ...] = ()


Pair = tuple[str, str, RunResult, RunResult]
"""Two levels of a factor, and a run of each; the runs are equal in all other factors."""


def pair_runs(results: Sequence[RunResult], factors: Mapping[str, Sequence[str]], factor: str) -> list[Pair]:
    """Every two runs that differ in one factor alone, by its levels in their order.

    Args:
        results: of two equal combinations of levels, the first run counts.
        factors: factor -> its levels.
        factor: one of them.
    """
    others = [name for name in factors if name != factor]
    settings: dict[tuple[str, ...], dict[str, RunResult]] = {}
    for result in results:
        settings.setdefault(get_levels(result, others), {}).setdefault(get_level(result, factor), result)
    return [
        (one, other, runs[one], runs[other])
        for one, other in combinations(factors[factor], 2)
        for runs in settings.values()
        if one in runs and other in runs
    ]


def find_movements(
    results: Sequence[RunResult], factors: Mapping[str, Sequence[str]], measures: Sequence[str]
) -> dict[str, Movement]:
    """What each factor does to the measures. Runs without scores are left out."""
    scored = [result for result in results if result.has_scores]
    found = {}
    for factor in factors:
        pairs = pair_runs(scored, factors, factor)
        moved = [name for name in measures if any(_differ(left, right, name) for _, _, left, right in pairs)]
        unmoved = [name for name in measures if name not in moved] if pairs else []
        found[factor] = Movement(len(pairs), tuple(moved), tuple(unmoved))
    return found


def _differ(left: RunResult, right: RunResult, measure: str) -> bool:
    """Whether two runs differ in a turn; of a measure that has no values of turns, in the whole."""
    if (measure in left.overall) != (measure in right.overall):
        return True
    if measure not in left.scores.measures:
        return abs(left.overall.get(measure, 0.0) - right.overall.get(measure, 0.0)) > _LEAST
    differences = subtract_scores(left.scores, right.scores, measure).measures.get(measure, ())
    return any(abs(difference) > _LEAST for difference in differences)


def describe_unmoved(movements: Mapping[str, Movement], metrics: Sequence[str]) -> Iterator[str]:
    """A sentence on the factors that move not all compared measures, and on what they move instead.

    `clusterer, ranker: no difference in nDCG@5; they move ROUGE-L, token_F1 (effects.md).`
    """
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for factor, movement in movements.items():
        if unmoved := tuple(name for name in metrics if name in movement.unmoved):
            groups[unmoved, movement.moved].append(factor)
    for (unmoved, moved), factors in groups.items():
        they = f"{'it moves' if len(factors) == 1 else 'they move'}"
        instead = f"{they} {_list_some(moved)} (effects.md)" if moved else f"{they} no measure at all"
        yield f"{', '.join(factors)}: no difference in {', '.join(unmoved)}; {instead}."


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_LISTED])} and {more} more"
