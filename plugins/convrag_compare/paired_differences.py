"""Means of runs, and differences between two runs on the turns of both, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np

from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.run_result import Scores
from convrag_compare.significance import compute_sign_flip_p

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


@dataclass(frozen=True)
class _ConversationSums:
    """The sums of a measure over the turns of each of n conversations, for k runs.

    Args:
        sums: the sums, (n, k).
        sizes: the numbers of scored turns, (n, k).
    """

    sums: NDArray[np.float64]
    sizes: NDArray[np.float64]


def _sum_by_conversation(
    runs: Sequence[Scores], measure: str, domain: str = ""
) -> _ConversationSums:
    """Sum a measure by conversation and run.

    Args:
        runs: the scores of the runs; a row is a conversation with a turn in any of them.
        measure: the name of the measure.
        domain: count only the turns of this domain; all if empty.
    """
    names = dict.fromkeys(name for scores in runs for name in scores.conversations)
    row_of = {name: row for row, name in enumerate(names)}
    sums = np.zeros((len(names), len(runs)))
    sizes = np.zeros((len(names), len(runs)))
    for column, scores in enumerate(runs):
        values = scores.measures.get(measure, ())
        for name, place, value in zip(scores.conversations, scores.domains, values, strict=False):
            if isnan(value) or (domain and place != domain):
                continue
            sums[row_of[name], column] += value
            sizes[row_of[name], column] += 1
    return _ConversationSums(sums, sizes)


def estimate_mean_intervals(
    runs: Sequence[Scores], measure: str, domain: str = ""
) -> list[tuple[float, float]]:
    """Estimate the 95 % interval of the mean of each run; NaN without scored turns.

    All intervals come from the same draws of conversations.
    """
    table = _sum_by_conversation(runs, measure, domain)
    if not len(table.sums):
        return [(nan, nan)] * len(runs)
    # conversations without this measure and domain are never drawn
    is_scored = table.sizes.sum(axis=1) > 0
    bounds = bootstrap_intervals(table.sums[is_scored], table.sizes[is_scored])
    return [(float(low), float(high)) for low, high in bounds]


def subtract_scores(one: Scores, other: Scores, measure: str) -> Scores:
    """Subtract the scores of one run from those of another, for the turns that they share."""
    other_values = dict(zip(other.turns, other.measures.get(measure, ()), strict=False))
    result = Scores()
    for place, value in enumerate(one.measures.get(measure, ())):
        turn = one.turns[place]
        difference = value - other_values.get(turn, nan)
        if not isnan(difference):
            result.add(
                turn,
                one.conversations[place],
                one.domains[place],
                one.numbers[place],
                {measure: difference},
            )
    return result


def estimate_differences(differences: Sequence[Scores], measure: str) -> list[Difference | None]:
    """Estimate the mean difference of each of several pairs of runs.

    Args:
        differences: for each pair, what `subtract_scores` returns.
        measure: the name of the measure.

    Returns:
        A difference for each pair; None for one that shares no scored turn.
    """
    table = _sum_by_conversation(differences, measure)
    if not len(table.sums):
        return [None] * len(differences)
    bounds = bootstrap_intervals(table.sums, table.sizes)
    p_values = compute_sign_flip_p(table.sums)
    conversations = np.count_nonzero(table.sizes, axis=0)
    estimates: list[Difference | None] = []
    for pair, scores in enumerate(differences):
        if not scores.turns:
            estimates.append(None)
            continue
        mean = table.sums[:, pair].sum() / table.sizes[:, pair].sum()
        low, high = bounds[pair]
        estimates.append(
            Difference(
                mean=float(mean),
                low=float(low),
                high=float(high),
                p=p_values[pair] if conversations[pair] >= LEAST else nan,
                turns=len(scores.turns),
                conversations=int(conversations[pair]),
            )
        )
    return estimates
