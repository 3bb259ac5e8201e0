"""leaderboard.md and leaderboard.csv, without times and costs.

A resumed grid leaves the same bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isnan, nan

from convrag.sdk.output.printable import make_printable
from convrag.sdk.tasks.scores import RESAMPLES, TOO_FEW, describe_gaps
from convrag_compare.factor_effects import describe_unmoved
from convrag_compare.factors import format_run, get_levels
from convrag_compare.leaderboard import Leaderboard, Row, Score
from convrag_compare.run_result import PARTIAL, RunResult
from convrag_compare.shared_turns import describe_shared
from convrag_compare.significance import EXACT, FLIPS
from convrag_compare.tables import (
    Table,
    format_exact,
    format_interval,
    format_number,
    format_p,
    format_signed,
)

_GAPS = ["turns", "failed_turns", "always_fell_back"]
_SUFFIXES = [
    "",
    "_low",
    "_high",
    "_difference",
    "_difference_low",
    "_difference_high",
    "_p",
    "_p_holm",
    "_compared_turns",
    "_compared_conversations",
]
"""The columns of leaderboard.csv for a measure by which runs are compared."""


def format_leaderboard_files(board: Leaderboard, notes: Sequence[str] = ()) -> dict[str, str]:
    """Format the files, name -> text; `notes` are further lines of leaderboard.md."""
    table = _make_main_table(board)
    parts = ["# Leaderboard", table.markdown(), _format_caption(board)]
    remarks = [*notes, *list_findings(board), *_list_remarks(board)]
    if remarks:
        parts.append("\n".join(f"* {remark}" for remark in remarks))
    parts += _format_domains(board)
    parts += _format_all_measures(board)
    return {
        "leaderboard.md": "\n\n".join(parts) + "\n",
        "leaderboard.csv": _make_full_table(board).csv(),
    }


def format_row_labels(board: Leaderboard, row: Row) -> list[str]:
    """Format the cells that identify a run: its levels, or its name where nothing was varied."""
    return list(get_levels(row.result, board.factors)) or [row.result.name]


def make_run_table(
    board: Leaderboard, columns: Sequence[str], format_row: Callable[[Row], Sequence[str]]
) -> Table:
    """Make a table with a row for each run.

    Args:
        board: the runs.
        columns: the headings after the columns that identify a run.
        format_row: formats the cells of a run under these headings.
    """
    names = list(board.factors) or ["run"]
    rows = [[*format_row_labels(board, row), *format_row(row)] for row in board.rows]
    return Table([*names, *columns], rows, len(names))


def list_findings(board: Leaderboard) -> list[str]:
    """List what a reader of the table must know first.

    That is which turns are shared, what metrics remark, what no factor moves, and which measures
    have no interval.
    """
    lines = list(describe_shared(board.shared, [*board.metrics, *board.left_out]))
    lines += [
        f"{name} is left out: it is not a mean over turns, and the runs were scored on different "
        "turns."
        for name in board.left_out
    ]
    lines += _list_common_remarks(board)
    lines += describe_unmoved(board.effects, board.metrics)
    without = [name for name in board.metrics if _lacks_intervals(board, name)]
    if without:
        measures = "" if len(without) == len(board.metrics) else f" of {', '.join(without)}"
        lines.append(f"No intervals and no p{measures}: {TOO_FEW}.")
    return lines


def _list_common_remarks(board: Leaderboard) -> list[str]:
    """List the lines that the metrics' reports have in every run."""
    by_run = []
    for row in board.rows:
        if row.result.summary:
            lines: dict[str, None] = {}
            for title, report in row.result.summary.reports.items():
                if title.startswith("metrics."):
                    lines |= dict.fromkeys(report["lines"])
            by_run.append(lines)
    if not by_run:
        return []
    return [line for line in by_run[0] if all(line in lines for lines in by_run)]


def _lacks_intervals(board: Leaderboard, measure: str) -> bool:
    """Whether a measure scored turns, but of too few conversations for an interval in any run."""
    is_scored = any(measure in row.result.scores.measures for row in board.rows)
    return is_scored and all(isnan(row.scores[measure].low) for row in board.rows)


def format_difference(board: Leaderboard, row: Row, measure: str) -> tuple[str, str, str]:
    """Format the difference to the baseline, its interval, and the corrected p-value."""
    if row.result is board.baseline:
        return "baseline", "", ""
    score = row.scores[measure]
    found = score.difference
    if found is None:
        return "", "", ""
    interval = format_interval(found.low, found.high, sign=True)
    return format_signed(found.mean), interval, format_p(score.corrected)


def _make_main_table(board: Leaderboard) -> Table:
    headings = []
    for measure in board.metrics:
        headings.append(f"{measure} [95 %]")
        if board.baseline:
            headings += ["to baseline [95 %]", "p (Holm)"]
    return make_run_table(
        board,
        [*headings, "state"],
        lambda row: [*_format_scores(board, row), row.result.label],
    )


def _format_scores(board: Leaderboard, row: Row) -> Iterator[str]:
    for measure, score in row.scores.items():
        yield _format_mean(score.mean, score.low, score.high)
        if board.baseline:
            difference, interval, p = format_difference(board, row, measure)
            yield f"{difference} {interval}".strip()
            yield p


def _format_mean(mean: float, low: float, high: float) -> str:
    return f"{format_number(mean)} {format_interval(low, high)}".strip()


def _make_full_table(board: Leaderboard) -> Table:
    """Make a table of all numbers with every digit.

    It also has the numbers by domain and the uncorrected p-values.
    """
    others = [name for name in board.measures if name not in board.metrics]
    compared = [f"{measure}{suffix}" for measure in board.metrics for suffix in _SUFFIXES]
    by_domain = [f"{domain}:{name}" for domain in board.domains for name in board.measures]
    headings = ["state", *_GAPS, *compared, *others, *by_domain]
    return make_run_table(board, headings, lambda row: _format_full_row(board, row, others))


def _format_full_row(board: Leaderboard, row: Row, others: Sequence[str]) -> list[str]:
    cells = [row.result.state, *_format_gaps(row)]
    for score in row.scores.values():
        cells += _format_full_score(score)
    for name in others:
        cells.append(format_exact(row.result.overall.get(name, nan)))
    domains = row.result.summary.domains if row.result.summary else {}
    for domain in board.domains:
        means = domains.get(domain, {})
        cells += [format_exact(means.get(name, nan)) for name in board.measures]
    return cells


def _format_full_score(score: Score) -> list[str]:
    """Format a score as cells, one for each of `_SUFFIXES`."""
    cells = [format_exact(number) for number in (score.mean, score.low, score.high)]
    found = score.difference
    if found is None:
        return cells + [""] * (len(_SUFFIXES) - len(cells))
    numbers = (found.mean, found.low, found.high, found.p, score.corrected)
    cells += [format_exact(number) for number in numbers]
    return [*cells, str(found.turns), str(found.conversations)]


def _format_gaps(row: Row) -> list[str]:
    """Format what a run lacks as cells, one for each of `_GAPS`."""
    summary = row.result.summary
    if summary is None:
        return [""] * len(_GAPS)
    return [str(summary.turns), str(summary.failed), " ".join(summary.always_fell_back)]


def _format_caption(board: Leaderboard) -> str:
    if not board.metrics:
        return "Nothing was measured by which the runs could be compared."
    first, *others = board.metrics
    then = f", of equal ones by {others[0]}" if others else ""
    caption = (
        f"Means over the scored turns, best {first} first{then}, with 95 % intervals (a bootstrap "
        f"over whole conversations, {RESAMPLES:,} draws)."
    )
    if board.baseline is None:
        return caption
    return (
        f"{caption} `to baseline` is the difference to the baseline, "
        f"{_quote_run(board, board.baseline)}, on the turns that both were scored on. `p` comes "
        "from a paired randomisation test, two-sided, with the conversation as the unit: every way "
        f"to flip the signs, or {FLIPS + 1:,} ways where more than {EXACT} conversations differ. "
        "It is corrected by Holm's method for the number of distinct differences to the baseline "
        "in this measure: runs with the same score in every turn count once."
    )


def _format_domains(board: Leaderboard) -> Iterator[str]:
    if not board.domains:
        return
    for measure in board.metrics:
        yield f"## {measure} by domain"
        format_row = partial(_format_domain_means, measure)
        yield make_run_table(board, board.domains, format_row).markdown()


def _format_domain_means(measure: str, row: Row) -> list[str]:
    return [_format_mean(*numbers) for numbers in row.scores[measure].domains.values()]


def _format_all_measures(board: Leaderboard) -> Iterator[str]:
    """Yield a table of all measures, if some are not in the main table."""
    if len(board.measures) == len(board.metrics):
        return
    yield "## All measures"
    yield make_run_table(
        board,
        board.measures,
        lambda row: [format_number(row.result.overall.get(name, nan)) for name in board.measures],
    ).markdown()


def _quote_run(board: Leaderboard, result: RunResult) -> str:
    text = make_printable(format_run(result, board.factors))
    return f"`{' '.join(text.split())}`"


def _list_remarks(board: Leaderboard) -> Iterator[str]:
    """Yield remarks on runs that failed, are partial, fell back or cannot be compared."""
    for row in board.rows:
        name = _quote_run(board, row.result)
        if not row.result.has_scores:
            yield f"{name}: {row.result.state} (cell {row.result.name})."
        summary = row.result.summary
        if summary is None:
            continue
        if row.result.state == PARTIAL:
            yield f"{name} is partial: {describe_gaps(summary)}."
        if summary.fallbacks:
            counts = ", ".join(f"{stage} {count}" for stage, count in summary.fallbacks.items())
            yield f"{name}: turns in which a stage fell back: {counts}."
        if board.baseline and row.result is not board.baseline and row.result.has_scores:
            unshared = [name for name, score in row.scores.items() if score.difference is None]
            if unshared:
                yield f"{name}: shares no turn scored by {', '.join(unshared)} with the baseline."
