"""Differences between two runs on the turns that both have: intervals, p-values, and what each
factor moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np

from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.run_result import RunResult, Scores, get_level, get_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Difference:
    """The mean of one run less the mean of another, over the turns that both were scored on.

    Args:
        mean: the difference.
        low: the lower end of its 95 % interval.
        high: its upper end.
        p: the p-value of the randomisation test, not corrected. Like the interval it is NaN over
            fewer than five conversations.
        turns: how many turns the runs share.
        conversations: how many conversations these turns are from.
    """

    mean: float
    low: float
    high: float
    p: float
    turns: int
    conversations: int


def index_conversations(runs: Sequence[Scores]) -> dict[str, int]:
    """The conversations with a scored turn in one of the runs -> their rows in the arrays of
    `sum_by_conversation`.
    """
    names = dict.fromkeys(name for scores in runs for name in scores.conversations)
    return {name: row for row, name in enumerate(names)}


def sum_by_conversation(
    scores: Scores, measure: str, rows: dict[str, int], domain: str = ""
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of a measure over the turns of each of n conversations, (n,), and the numbers of
    those turns, (n,).

    Args:
        scores: of a run.
        measure: its name.
        rows: conversation -> its row.
        domain: count only the turns of this domain; all if empty.
    """
    sums, sizes = np.zeros(len(rows)), np.zeros(len(rows))
    column = scores.measures.get(measure, ())
    for name, place, value in zip(scores.conversations, scores.domains, column, strict=False):
        if value == value and (not domain or place == domain):
            sums[rows[name]] += value
            sizes[rows[name]] += 1
    return sums, sizes


def estimate_mean_intervals(
    runs: Sequence[Scores], measure: str, domain: str = ""
) -> list[tuple[float, float]]:
    """The 95 % interval of the mean of each run, all from the same draws of conversations; NaN
    without scored turns.
    """
    rows = index_conversations(runs)
    if not rows:
        return [(nan, nan)] * len(runs)
    columns = [sum_by_conversation(scores, measure, rows, domain) for scores in runs]
    sums, sizes = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    scored = sizes.sum(axis=1) > 0  # conversations without this measure and domain are never drawn
    return [
        (float(low), float(high)) for low, high in bootstrap_intervals(sums[scored], sizes[scored])
    ]


def subtract_scores(one: Scores, other: Scores, measure: str) -> Scores:
    """The scores of one run less the scores of another, for the turns that they share."""
    theirs = dict(zip(other.turns, other.measures.get(measure, ()), strict=False))
    result = Scores()
    for index, value in enumerate(one.measures.get(measure, ())):
        turn = one.turns[index]
        difference = value - theirs.get(turn, nan)
        if difference == difference:
            who = turn, one.conversations[index], one.domains[index], one.numbers[index]
            result.add(*who, {measure: difference})
    return result


def estimate_differences(differences: Sequence[Scores], measure: str) -> list[Difference | None]:
    """The mean difference of each of several pairs of runs, with its interval and p-value.

    Args:
        differences: for each pair, what `subtract_scores` returns.
        measure: its name.

    Returns:
        A difference for each pair; None for one that shares no scored turn.
    """
    rows = index_conversations(differences)
    if not rows:
        return [None] * len(differences)
    columns = [sum_by_conversation(scores, measure, rows) for scores in differences]
    sums, sizes = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    bounds, p_values = bootstrap_intervals(sums, sizes), compute_sign_flip_p(sums)
    enough = np.count_nonzero(sizes, axis=0) >= LEAST
    return [
        Difference(
            mean=float(sums[:, k].sum() / sizes[:, k].sum()),
            low=float(bounds[k, 0]),
            high=float(bounds[k, 1]),
            p=p_values[k] if enough[k] else nan,
            turns=len(scores.turns),
            conversations=int(np.count_nonzero(sizes[:, k])),
        )
        if scores.turns
        else None
        for k, scores in enumerate(differences)
    ]


EXACT = 16
"""The number of conversations that differ up to which every way to flip their signs is tried."""

FLIPS = 19_999
"""The number of random sign flips where there are more; with the observed signs they are 20,000."""

_CHUNK = 500
"""The number of flips at once, with no more than so many signs in all: a million conversations fit
into memory.
"""
_SIGNS = 5_000_000
_SEED = 0
_ROUNDING = 1e-9


def compute_sign_flip_p(differences: NDArray[np.float64]) -> list[float]:
    """The p-values of k paired randomisation tests, two-sided.

    If two systems were equally good, the difference in each conversation could as well have had the
    other sign. The p-value is the share of the ways to flip the signs that give a total at least as
    far from zero as the observed one.

    Args:
        differences: (n, k), for each of n conversations and k tests, the sum of the differences of
            its turns.
    """
    observed = np.abs(differences.sum(axis=0)) - _ROUNDING * np.abs(differences).sum(axis=0)
    exact = np.count_nonzero(differences, axis=0) <= EXACT
    sampled = _sample_p(differences[:, ~exact], observed[~exact])
    found = np.empty(differences.shape[1])
    found[~exact] = sampled
    for column in np.flatnonzero(exact):
        differing = differences[
            differences[:, column] != 0, column
        ]  # flipping the others changes nothing
        totals = np.abs(_list_signs(len(differing)) @ differing)
        found[column] = np.mean(totals >= observed[column])
    return [float(p) for p in found]


def _sample_p(
    differences: NDArray[np.float64], observed: NDArray[np.float64]
) -> NDArray[np.float64]:
    generator = np.random.default_rng(_SEED)
    extreme = np.zeros(differences.shape[1])
    chunk = max(1, min(_CHUNK, _SIGNS // max(len(differences), 1)))
    for start in range(0, FLIPS if differences.shape[1] else 0, chunk):
        size = min(chunk, FLIPS - start), len(differences)
        signs = generator.integers(0, 2, size=size) * 2.0 - 1.0
        extreme += np.sum(np.abs(signs @ differences) >= observed, axis=0)
    return (extreme + 1) / (FLIPS + 1)


def correct_by_holm(
    p_values: Sequence[float], differences: Sequence[Sequence[float] | None] = ()
) -> list[float]:
    """P-values corrected for several tests by Holm's step-down method; NaN, for no test, stays NaN.

    Args:
        p_values: of the tests.
        differences: of the turns in each test. Tests with the same differences are one test and
            count once; one whose differences are all 0 compares a system with an equal one, and
            does not count. Without them, all count.
    """
    tests: dict[tuple[float, ...] | int, list[int]] = {}
    for index, p in enumerate(p_values):
        values = differences[index] if differences else None
        if not isnan(p):
            tests.setdefault(index if values is None else tuple(values), []).append(index)
    corrected = list(p_values)
    counted = sorted(
        (p_values[same[0]], same) for key, same in tests.items() if isinstance(key, int) or any(key)
    )
    highest = 0.0
    for done, (p, same) in enumerate(counted):
        highest = max(highest, min(1.0, p * (len(counted) - done)))
        for index in same:
            corrected[index] = highest
    return corrected


def _list_signs(count: int) -> NDArray[np.float64]:
    """Every combination of signs, (2 ** (count - 1), count), but for mirror images, whose totals
    are as far from 0.
    """
    numbers = np.arange(2 ** max(count - 1, 0))[:, None]
    negative = (numbers >> np.arange(count)) & 1
    return np.where(negative, -1.0, 1.0)


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


def pair_runs(
    results: Sequence[RunResult], factors: Mapping[str, Sequence[str]], factor: str
) -> list[Pair]:
    """Every two runs that differ in one factor alone, by its levels in their order.

    Args:
        results: of two equal combinations of levels, the first run counts.
        factors: factor -> its levels.
        factor: one of them.
    """
    others = [name for name in factors if name != factor]
    settings: dict[tuple[str, ...], dict[str, RunResult]] = {}
    for result in results:
        settings.setdefault(get_levels(result, others), {}).setdefault(
            get_level(result, factor), result
        )
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
        moved = [
            name
            for name in measures
            if any(_differ(left, right, name) for _, _, left, right in pairs)
        ]
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
        instead = (
            f"{they} {_list_some(moved)} (effects.md)" if moved else f"{they} no measure at all"
        )
        yield f"{', '.join(factors)}: no difference in {', '.join(unmoved)}; {instead}."


def _list_some(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_LISTED])} and {more} more"
