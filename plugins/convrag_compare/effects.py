"""The effect of each factor: the mean of the metric at each level, and pairs of levels where all else is equal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import nan
from statistics import fmean

from convrag_compare.factors import get_level, get_levels
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.paired_differences import Difference, estimate_differences, subtract_scores
from convrag_compare.run_result import PARTIAL, RunResult, Scores
from convrag_compare.significance import correct_by_holm
from convrag_compare.tables import Table, format_interval, format_number, format_p, format_signed


def format_effects_file(board: Leaderboard) -> dict[str, str]:
    """The text of effects.md; no file where nothing was varied or measured."""
    results = [row.result for row in board.rows if row.result.has_scores and row.mean == row.mean]
    factors = {name: levels for name, levels in board.factors.items() if len({get_level(o, name) for o in results}) > 1}
    if not factors:
        return {}
    parts = ["# The effect of each factor", _EXPLAINED.format(metric=board.metric)]
    if partial := sum(result.state == PARTIAL for result in results):
        parts.append(f"Partial runs: {partial} of {len(results)}; leaderboard.md says what they lack.")
    for factor, levels in factors.items():
        parts += [f"## {factor}", _make_mean_table(board, results, factor, levels).markdown()]
        if differences := _compare_levels(board, results, factor, levels):
            parts.append(_make_difference_table(differences).markdown())
    return {"effects.md": "\n\n".join(parts) + "\n"}


_EXPLAINED = (
    "For each factor, the mean {metric} of the runs at each level; then every two levels against each other, over "
    "those runs only that differ in nothing else. `pairs` counts them, `range` is from the least to the greatest "
    "difference of a pair: where it has both signs, the effect depends on the other factors. The interval and p are of "
    "the difference over all pairs, with the conversation as the unit; Holm's correction is for the pairs of levels of "
    "the factor."
)


def _make_mean_table(board: Leaderboard, results: Sequence[RunResult], factor: str, levels: Sequence[str]) -> Table:
    rows = []
    for name in levels:
        means = [result.overall[board.metric] for result in results if get_level(result, factor) == name]
        if means:
            rows.append(
                [
                    name,
                    format_number(fmean(means)),
                    format_number(min(means)),
                    format_number(max(means)),
                    str(len(means)),
                ]
            )
    return Table([factor, board.metric, "least", "greatest", "runs"], rows)


def _compare_levels(
    board: Leaderboard, results: Sequence[RunResult], factor: str, levels: Sequence[str]
) -> list[tuple[str, list[float], Difference | None]]:
    """For every two levels: their names, the mean difference of each pair of runs, and the difference over all."""
    others = [name for name in board.factors if name != factor]
    by_setting = {(get_level(result, factor), get_levels(result, others)): result for result in reversed(results)}
    names: list[str] = []
    means: list[list[float]] = []
    pooled: list[Scores] = []
    for one, other in combinations(levels, 2):
        each: list[float] = []
        together = Scores()
        for setting in dict.fromkeys(get_levels(result, others) for result in results):
            left, right = by_setting.get((one, setting)), by_setting.get((other, setting))
            if left and right and (differences := subtract_scores(left.scores, right.scores, board.metric)).turns:
                each.append(fmean(differences.measures[board.metric]))
                _append_scores(together, differences, board.metric)
        if each:
            names.append(f"{one} - {other}")
            means.append(each)
            pooled.append(together)
    return list(zip(names, means, estimate_differences(pooled, board.metric), strict=True))


def _append_scores(pooled: Scores, more: Scores, measure: str) -> None:
    columns = more.turns, more.conversations, more.domains, more.numbers, more.measures[measure]
    for turn, conversation, domain, number_, value in zip(*columns, strict=True):
        pooled.add(turn, conversation, domain, number_, {measure: value})


def _make_difference_table(differences: Sequence[tuple[str, list[float], Difference | None]]) -> Table:
    corrected = correct_by_holm([found.p if found else nan for _, _, found in differences])
    rows = []
    for (name, each, found), p in zip(differences, corrected, strict=True):
        low, high, mean = (found.low, found.high, found.mean) if found else (nan, nan, nan)
        spread = f"{format_signed(min(each))} to {format_signed(max(each))}"
        rows.append(
            [name, format_signed(mean), format_interval(low, high, sign=True), format_p(p), spread, str(len(each))]
        )
    return Table(["levels", "difference", "95 %", "p (Holm)", "range", "pairs"], rows)
