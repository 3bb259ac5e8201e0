"""The effects of factors: the measures that differ between runs that differ in one factor alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from convrag_compare.factors import get_level, get_levels
from convrag_compare.paired_differences import subtract_scores
from convrag_compare.run_result import RunResult

_ROUNDING = 1e-12  # a smaller difference is one of rounding
_LISTED = 6


@dataclass(frozen=True)
class FactorEffect:
    """The effect of a factor on the measures.

    Args:
        pairs: how many pairs of runs differ in this factor alone; with none, nothing is known.
        moved: the measures in which the runs of a pair differ, in some turn.
        unmoved: the measures in which no pair differs.
    """

    pairs: int
    moved: tuple[str, ...] = ()
    unmoved: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunPair:
    """Two runs that are equal in all factors but one, and the levels of that factor."""

    left_level: str
    right_level: str
    left: RunResult
    right: RunResult


def pair_runs(
    results: Sequence[RunResult], factors: Mapping[str, Sequence[str]], factor: str
) -> list[RunPair]:
    """Pair the runs that differ in one factor alone, by its levels in their order.

    Args:
        results: the runs; of two with equal levels, the first one counts.
        factors: factor -> its levels.
        factor: one of them.
    """
    others = [name for name in factors if name != factor]
    settings: dict[tuple[str, ...], dict[str, RunResult]] = {}
    for result in results:
        by_level = settings.setdefault(get_levels(result, others), {})
        by_level.setdefault(get_level(result, factor), result)
    pairs = []
    for one, other in combinations(factors[factor], 2):
        pairs += [
            RunPair(one, other, by_level[one], by_level[other])
            for by_level in settings.values()
            if one in by_level and other in by_level
        ]
    return pairs


def find_effects(
    results: Sequence[RunResult], factors: Mapping[str, Sequence[str]], measures: Sequence[str]
) -> dict[str, FactorEffect]:
    """Find the effect of each factor on the measures. Runs without scores are left out."""
    scored = [result for result in results if result.has_scores]
    effects = {}
    for factor in factors:
        pairs = pair_runs(scored, factors, factor)
        moved = []
        unmoved = []
        for measure in measures:
            if any(_differ(pair.left, pair.right, measure) for pair in pairs):
                moved.append(measure)
            elif pairs:
                unmoved.append(measure)
        effects[factor] = FactorEffect(len(pairs), tuple(moved), tuple(unmoved))
    return effects


def _differ(left: RunResult, right: RunResult, measure: str) -> bool:
    """Whether two runs differ by a measure in a turn, or in the whole if turns have no values."""
    if (measure in left.overall) != (measure in right.overall):
        return True
    if measure not in left.scores.measures:
        difference = left.overall.get(measure, 0.0) - right.overall.get(measure, 0.0)
        return abs(difference) > _ROUNDING
    differences = subtract_scores(left.scores, right.scores, measure).measures.get(measure, ())
    return any(abs(difference) > _ROUNDING for difference in differences)


def describe_unmoved(effects: Mapping[str, FactorEffect], metrics: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on factors that leave some compared measures unmoved.

    `clusterer, ranker: no difference in nDCG@5; they move ROUGE-L, token_F1 (effects.md).`
    """
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for factor, effect in effects.items():
        unmoved = tuple(name for name in metrics if name in effect.unmoved)
        if unmoved:
            groups[unmoved, effect.moved].append(factor)
    for (unmoved, moved), factors in groups.items():
        they_move = "it moves" if len(factors) == 1 else "they move"
        if moved:
            instead = f"{they_move} {_list_some(moved)} (effects.md)"
        else:
            instead = f"{they_move} no measure at all"
        yield f"{', '.join(factors)}: no difference in {', '.join(unmoved)}; {instead}."


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    if more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:_LISTED])} and {more} more"
