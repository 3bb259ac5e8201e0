"""Two runs on the same turns, and sums by conversation: what the tests of significance are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from convrag.score.bootstrap import intervals
from convrag_compare.outcome import Scores
from convrag_compare.significance import is_exact, sign_flip_p

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Difference:
    """One run's mean less another's, over the turns that both were scored on.

    `low` and `high` bound its 95 % interval; `p` is that of the sign flips, before any correction, and `exact` where
    all of them were tried.
    """

    mean: float
    low: float
    high: float
    p: float
    exact: bool
    turns: int
    conversations: int


def conversations_of(runs: Sequence[Scores]) -> dict[str, int]:
    """Every conversation that has a scored turn in one of the runs -> its row in what `by_conversation` gives."""
    names = dict.fromkeys(name for scores in runs for name in scores.conversations)
    return {name: row for row, name in enumerate(names)}


def by_conversation(
    scores: Scores, measure: str, rows: dict[str, int], domain: str = ""
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) the sum of a measure over each conversation's turns, and (n,) their number; of one domain, where given."""
    sums, sizes = np.zeros(len(rows)), np.zeros(len(rows))
    column = scores.measures.get(measure, ())
    for name, place, value in zip(scores.conversations, scores.domains, column, strict=False):
        if value == value and (not domain or place == domain):
            sums[rows[name]] += value
            sizes[rows[name]] += 1
    return sums, sizes


def mean_intervals(runs: Sequence[Scores], measure: str, domain: str = "") -> list[tuple[float, float]]:
    """The 95 % interval of each run's mean, all from the same draws of conversations."""
    rows = conversations_of(runs)
    if not rows:
        return [(nan, nan)] * len(runs)
    columns = [by_conversation(scores, measure, rows, domain) for scores in runs]
    sums, sizes = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    scored = sizes.sum(axis=1) > 0  # of this measure and domain: no other conversation is ever drawn
    return [(float(low), float(high)) for low, high in intervals(sums[scored], sizes[scored])]


def less(one: Scores, other: Scores, measure: str) -> Scores:
    """The differences between two runs, as the scores of the turns that they share."""
    theirs = dict(zip(other.turns, other.measures.get(measure, ()), strict=False))
    result = Scores()
    for index, value in enumerate(one.measures.get(measure, ())):
        turn = one.turns[index]
        difference = value - theirs.get(turn, nan)
        if difference == difference:
            who = turn, one.conversations[index], one.domains[index], one.numbers[index]
            result.add(*who, {measure: difference})
    return result


def compare(differences: Sequence[Scores], measure: str) -> list[Difference | None]:
    """What the differences of several pairs of runs (see `less`) come to; None for a pair that shares no turn."""
    rows = conversations_of(differences)
    if not rows:
        return [None] * len(differences)
    columns = [by_conversation(scores, measure, rows) for scores in differences]
    sums, sizes = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    bounds, p_values, exact = intervals(sums, sizes), sign_flip_p(sums), is_exact(sums)
    return [
        Difference(
            mean=float(sums[:, k].sum() / sizes[:, k].sum()),
            low=float(bounds[k, 0]),
            high=float(bounds[k, 1]),
            p=p_values[k],
            exact=bool(exact[k]),
            turns=len(scores.turns),
            conversations=int(np.count_nonzero(sizes[:, k])),
        )
        if scores.turns
        else None
        for k, scores in enumerate(differences)
    ]
