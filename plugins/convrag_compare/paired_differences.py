"""Differences between two runs on the turns that both were scored on, with intervals and p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.run_result import Scores
from convrag_compare.significance import compute_sign_flip_p, is_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Difference:
    """The mean of one run less the mean of another, over the turns that both were scored on.

    Args:
        mean: the difference.
        low: the lower end of its 95 % interval.
        high: its upper end.
        p: the p-value of the randomisation test, not corrected. Like the interval it is NaN over fewer than five
            conversations.
        exact: whether the test tried every way to flip the signs.
        turns: how many turns the runs share.
        conversations: how many conversations these turns are from.
    """

    mean: float
    low: float
    high: float
    p: float
    exact: bool
    turns: int
    conversations: int


def index_conversations(runs: Sequence[Scores]) -> dict[str, int]:
    """The conversations with a scored turn in one of the runs -> their rows in the arrays of `sum_by_conversation`."""
    names = dict.fromkeys(name for scores in runs for name in scores.conversations)
    return {name: row for row, name in enumerate(names)}


def sum_by_conversation(
    scores: Scores, measure: str, rows: dict[str, int], domain: str = ""
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of a measure over the turns of each of n conversations, (n,), and the numbers of those turns, (n,).

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


def estimate_mean_intervals(runs: Sequence[Scores], measure: str, domain: str = "") -> list[tuple[float, float]]:
    """The 95 % interval of the mean of each run, all from the same draws of conversations; NaN without scored turns."""
    rows = index_conversations(runs)
    if not rows:
        return [(nan, nan)] * len(runs)
    columns = [sum_by_conversation(scores, measure, rows, domain) for scores in runs]
    sums, sizes = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    scored = sizes.sum(axis=1) > 0  # conversations without this measure and domain are never drawn
    return [(float(low), float(high)) for low, high in bootstrap_intervals(sums[scored], sizes[scored])]


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
    bounds, p_values, exact = bootstrap_intervals(sums, sizes), compute_sign_flip_p(sums), is_exact(sums)
    enough = np.count_nonzero(sizes, axis=0) >= LEAST
    return [
        Difference(
            mean=float(sums[:, k].sum() / sizes[:, k].sum()),
            low=float(bounds[k, 0]),
            high=float(bounds[k, 1]),
            p=p_values[k] if enough[k] else nan,
            exact=bool(exact[k]),
            turns=len(scores.turns),
            conversations=int(np.count_nonzero(sizes[:, k])),
        )
        if scores.turns
        else None
        for k, scores in enumerate(differences)
    ]
