"""effects.md: the measures that each factor moves, the mean at each level, and pairs of levels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from statistics import fmean

from convrag.sdk.tasks.scores import TOO_FEW
from convrag_compare.factor_effects import RunPair, pair_runs
from convrag_compare.factors import get_level
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.paired_differences import Difference, estimate_differences, subtract_scores
from convrag_compare.run_result import PARTIAL, RunResult, Scores
from convrag_compare.significance import correct_by_holm
from convrag_compare.tables import Table, format_interval, format_number, format_p, format_signed

_EXPLANATION = (
    "For each factor, the measures that it moves: those in which two runs differ that differ in "
    "this factor alone. For each of them the mean of the runs at each level; then every two levels "
    "against each other, over those pairs of runs only. `pairs` counts them, `range` is from the "
    "least to the greatest difference of a pair: where it has both signs, the effect depends on "
    "the other factors. The interval and p are of the difference over all pairs, with the "
    "conversation as the unit; Holm's correction is for the pairs of levels of the factor, within "
    "one measure."
)


def format_effects_file(board: Leaderboard) -> dict[str, str]:
    """Format effects.md, name -> text; no file where nothing was varied or measured."""
    results = [row.result for row in board.rows if row.result.has_scores and row.result.overall]
    factors = [
        name for name in board.factors if len({get_level(result, name) for result in results}) > 1
    ]
    if not factors:
        return {}
    parts = ["# The effect of each factor", _EXPLANATION]
    partial = sum(result.state == PARTIAL for result in results)
    if partial:
        parts.append(
            f"Partial runs: {partial} of {len(results)}; leaderboard.md says what they lack."
        )
    for factor in factors:
        parts += _describe_factor(board, results, factor)
    return {"effects.md": "\n\n".join(parts) + "\n"}


def _describe_factor(
    board: Leaderboard, results: Sequence[RunResult], factor: str
) -> Iterator[str]:
    """Yield the paragraphs and tables of one factor."""
    effect = board.effects[factor]
    yield f"## {factor}"
    measures: Sequence[str] = board.metrics
    if not effect.pairs:
        yield "No two runs differ in this factor alone: these means also show what else differs."
    else:
        measures = effect.moved
        yield f"It moves {', '.join(effect.moved) or 'no measure'}."
        if effect.unmoved:
            yield (
                f"No difference in any of {effect.pairs} pairs of runs: "
                f"{', '.join(effect.unmoved)}."
            )
    pairs = pair_runs(results, board.factors, factor)
    for measure in measures:
        yield f"### {factor}: {measure}"
        yield _make_mean_table(board, results, factor, measure).markdown()
        comparisons = _compare_levels(pairs, measure)
        if comparisons:
            yield _make_difference_table(comparisons).markdown()
            if not any(comparison.has_interval for comparison in comparisons):
                yield f"No intervals and no p: {TOO_FEW}."


def _make_mean_table(
    board: Leaderboard, results: Sequence[RunResult], factor: str, measure: str
) -> Table:
    rows = []
    for level in board.factors[factor]:
        means = [
            result.overall[measure]
            for result in results
            if get_level(result, factor) == level and measure in result.overall
        ]
        if means:
            numbers = map(format_number, (fmean(means), min(means), max(means)))
            rows.append([level, *numbers, str(len(means))])
    return Table([factor, measure, "least", "greatest", "runs"], rows)


@dataclass
class _LevelComparison:
    """Two levels of a factor, compared over the pairs of runs that differ in it alone.

    Args:
        name: the two levels.
        means: the mean difference of each pair of runs.
        pooled: the differences of the turns of all pairs.
        difference: the difference over all pairs.
        p: its p-value, corrected by Holm's method.
    """

    name: str
    means: list[float] = field(default_factory=list)
    pooled: Scores = field(default_factory=Scores)
    difference: Difference | None = None
    p: float = nan

    @property
    def has_interval(self) -> bool:
        return self.difference is not None and not isnan(self.difference.low)


def _compare_levels(pairs: Sequence[RunPair], measure: str) -> list[_LevelComparison]:
    """Compare every two levels of a factor by a measure."""
    by_levels: dict[str, _LevelComparison] = {}
    for pair in pairs:
        differences = subtract_scores(pair.left.scores, pair.right.scores, measure)
        if not differences.turns:
            continue
        name = f"{pair.left_level} - {pair.right_level}"
        comparison = by_levels.setdefault(name, _LevelComparison(name))
        comparison.means.append(fmean(differences.measures[measure]))
        _append_scores(comparison.pooled, differences, measure)
    comparisons = list(by_levels.values())
    estimates = estimate_differences([each.pooled for each in comparisons], measure)
    p_values = [nan if found is None else found.p for found in estimates]
    corrected = correct_by_holm(p_values, [each.pooled.measures[measure] for each in comparisons])
    for comparison, difference, p in zip(comparisons, estimates, corrected, strict=True):
        comparison.difference = difference
        comparison.p = p
    return comparisons


def _append_scores(pooled: Scores, more: Scores, measure: str) -> None:
    columns = (more.turns, more.conversations, more.domains, more.numbers, more.measures[measure])
    for turn, conversation, domain, number, value in zip(*columns, strict=True):
        pooled.add(turn, conversation, domain, number, {measure: value})


def _make_difference_table(comparisons: Sequence[_LevelComparison]) -> Table:
    rows = []
    for comparison in comparisons:
        found = comparison.difference
        rows.append(
            [
                comparison.name,
                format_signed(found.mean) if found else "",
                format_interval(found.low, found.high, sign=True) if found else "",
                format_p(comparison.p),
                f"{format_signed(min(comparison.means))} to {format_signed(max(comparison.means))}",
                str(len(comparison.means)),
            ]
        )
    return Table(["levels", "difference", "95 %", "p (Holm)", "range", "pairs"], rows)
