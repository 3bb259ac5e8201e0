"""What each factor does: the mean of the metric at each level, and levels against each other with all else equal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import nan
from statistics import fmean

from convrag_compare.factors import level, settings
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.outcome import OK, Outcome, Scores
from convrag_compare.paired import Difference, compare, less
from convrag_compare.significance import holm
from convrag_compare.tables import Table, interval, number, p_value, signed


def effects_file(board: Leaderboard) -> dict[str, str]:
    """effects.md; nothing where nothing was varied or measured."""
    outcomes = [row.outcome for row in board.rows if row.outcome.state == OK and row.mean == row.mean]
    factors = {name: levels for name, levels in board.factors.items() if len({level(o, name) for o in outcomes}) > 1}
    if not factors:
        return {}
    parts = ["# The effect of each factor", _EXPLAINED.format(metric=board.metric)]
    for factor, levels in factors.items():
        parts += [f"## {factor}", _means(board, outcomes, factor, levels).markdown()]
        if differences := _differences(board, outcomes, factor, levels):
            parts.append(_table(differences).markdown())
    return {"effects.md": "\n\n".join(parts) + "\n"}


_EXPLAINED = (
    "For each factor, the mean {metric} of the runs at each level; then every two levels against each other, over "
    "those runs only that differ in nothing else. `pairs` counts them, `range` is from the least to the greatest "
    "difference of a pair: where it has both signs, the effect depends on the other factors. The interval and p are of "
    "the difference over all pairs, with the conversation as the unit; Holm's correction is for the pairs of levels of "
    "the factor."
)


def _means(board: Leaderboard, outcomes: Sequence[Outcome], factor: str, levels: Sequence[str]) -> Table:
    rows = []
    for name in levels:
        means = [outcome.overall[board.metric] for outcome in outcomes if level(outcome, factor) == name]
        if means:
            rows.append([name, number(fmean(means)), number(min(means)), number(max(means)), str(len(means))])
    return Table([factor, board.metric, "least", "greatest", "runs"], rows)


def _differences(
    board: Leaderboard, outcomes: Sequence[Outcome], factor: str, levels: Sequence[str]
) -> list[tuple[str, list[float], Difference | None]]:
    """For every two levels: what they are, the difference of each pair of runs, and what all pairs come to."""
    others = [name for name in board.factors if name != factor]
    by_setting = {(level(outcome, factor), settings(outcome, others)): outcome for outcome in reversed(outcomes)}
    names: list[str] = []
    means: list[list[float]] = []
    pooled: list[Scores] = []
    for one, other in combinations(levels, 2):
        each: list[float] = []
        together = Scores()
        for setting in dict.fromkeys(settings(outcome, others) for outcome in outcomes):
            left, right = by_setting.get((one, setting)), by_setting.get((other, setting))
            if left and right and (differences := less(left.scores, right.scores, board.metric)).turns:
                each.append(fmean(differences.measures[board.metric]))
                _pool(together, differences, board.metric)
        if each:
            names.append(f"{one} - {other}")
            means.append(each)
            pooled.append(together)
    return list(zip(names, means, compare(pooled, board.metric), strict=True))


def _pool(pooled: Scores, more: Scores, measure: str) -> None:
    columns = more.turns, more.conversations, more.domains, more.numbers, more.measures[measure]
    for turn, conversation, domain, number_, value in zip(*columns, strict=True):
        pooled.add(turn, conversation, domain, number_, {measure: value})


def _table(differences: Sequence[tuple[str, list[float], Difference | None]]) -> Table:
    corrected = holm([found.p if found else nan for _, _, found in differences])
    rows = []
    for (name, each, found), p in zip(differences, corrected, strict=True):
        low, high, mean = (found.low, found.high, found.mean) if found else (nan, nan, nan)
        spread = f"{signed(min(each))} to {signed(max(each))}"
        rows.append([name, signed(mean), interval(low, high, sign=True), p_value(p), spread, str(len(each))])
    return Table(["levels", "difference", "95 %", "p (Holm)", "range", "pairs"], rows)
