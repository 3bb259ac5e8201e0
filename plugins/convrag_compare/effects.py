"""The effect of each factor: which measures it moves, the mean at each level, and pairs of levels,
all else equal.
"""

from collections.abc import Iterator, Sequence
from math import nan
from statistics import fmean

from convrag.sdk.tasks.scores import TOO_FEW
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.paired_differences import (
    Difference,
    Pair,
    correct_by_holm,
    estimate_differences,
    pair_runs,
    subtract_scores,
)
from convrag_compare.run_result import PARTIAL, RunResult, Scores, get_level
from convrag_compare.tables import Table, format_interval, format_number, format_p, format_signed

_EXPLAINED = (
    "For each factor, the measures that it moves: those in which two runs differ that differ in this factor alone. For "
    "each of them the mean of the runs at each level; then every two levels against each other, over those pairs of "
    "runs only. `pairs` counts them, `range` is from the least to the greatest difference of a pair: where it has both "
    "signs, the effect depends on the other factors. The interval and p are of the difference over all pairs, with the "
    "conversation as the unit; Holm's correction is for the pairs of levels of the factor, within one measure."
)


def format_effects_file(board: Leaderboard) -> dict[str, str]:
    """The text of effects.md; no file where nothing was varied or measured."""
    results = [row.result for row in board.rows if row.result.has_scores and row.result.overall]
    factors = {
        name: levels
        for name, levels in board.factors.items()
        if len({get_level(o, name) for o in results}) > 1
    }
    if not factors:
        return {}
    parts = ["# The effect of each factor", _EXPLAINED]
    if partial := sum(result.state == PARTIAL for result in results):
        parts.append(
            f"Partial runs: {partial} of {len(results)}; leaderboard.md says what they lack."
        )
    for factor in factors:
        parts += _describe_factor(board, results, factor)
    return {"effects.md": "\n\n".join(parts) + "\n"}


def _describe_factor(
    board: Leaderboard, results: Sequence[RunResult], factor: str
) -> Iterator[str]:
    movement = board.movements[factor]
    yield f"## {factor}"
    if not movement.pairs:
        yield "No two runs differ in this factor alone: these means also show what else differs."
    else:
        yield f"It moves {', '.join(movement.moved) or 'no measure'}."
        if movement.unmoved:
            yield f"No difference in any of {movement.pairs} pairs of runs: {', '.join(movement.unmoved)}."
    pairs = pair_runs(results, board.factors, factor)
    for measure in movement.moved if movement.pairs else board.metrics:
        yield f"### {factor}: {measure}"
        yield _make_mean_table(board, results, factor, measure).markdown()
        if differences := _compare_levels(pairs, measure):
            yield _make_difference_table(differences).markdown()
            if not any(found and found.low == found.low for _, _, found, _ in differences):
                yield f"No intervals and no p: {TOO_FEW}."


def _make_mean_table(
    board: Leaderboard, results: Sequence[RunResult], factor: str, measure: str
) -> Table:
    rows = []
    for level in board.factors[factor]:
        at_level = [result.overall for result in results if get_level(result, factor) == level]
        if means := [overall[measure] for overall in at_level if measure in overall]:
            numbers = map(format_number, (fmean(means), min(means), max(means)))
            rows.append([level, *numbers, str(len(means))])
    return Table([factor, measure, "least", "greatest", "runs"], rows)


Comparison = tuple[str, list[float], Difference | None, float]
"""Two levels, the mean difference of each pair of runs, the difference over all pairs, and its
corrected p-value.
"""


def _compare_levels(pairs: Sequence[Pair], measure: str) -> list[Comparison]:
    means: dict[str, list[float]] = {}
    pooled: dict[str, Scores] = {}
    for one, other, left, right in pairs:
        if (differences := subtract_scores(left.scores, right.scores, measure)).turns:
            means.setdefault(f"{one} - {other}", []).append(fmean(differences.measures[measure]))
            _append_scores(pooled.setdefault(f"{one} - {other}", Scores()), differences, measure)
    found = estimate_differences(list(pooled.values()), measure)
    corrected = correct_by_holm(
        [each.p if each else nan for each in found],
        [scores.measures[measure] for scores in pooled.values()],
    )
    return [
        (name, means[name], each, p) for name, each, p in zip(pooled, found, corrected, strict=True)
    ]


def _append_scores(pooled: Scores, more: Scores, measure: str) -> None:
    columns = more.turns, more.conversations, more.domains, more.numbers, more.measures[measure]
    for turn, conversation, domain, number, value in zip(*columns, strict=True):
        pooled.add(turn, conversation, domain, number, {measure: value})


def _make_difference_table(differences: Sequence[Comparison]) -> Table:
    rows = []
    for name, each, found, p in differences:
        low, high, mean = (found.low, found.high, found.mean) if found else (nan, nan, nan)
        spread = f"{format_signed(min(each))} to {format_signed(max(each))}"
        interval = format_interval(low, high, sign=True)
        rows.append([name, format_signed(mean), interval, format_p(p), spread, str(len(each))])
    return Table(["levels", "difference", "95 %", "p (Holm)", "range", "pairs"], rows)
