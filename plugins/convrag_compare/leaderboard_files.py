"""The leaderboard as Markdown and CSV, without times and costs: a resumed grid leaves the same
bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from convrag.sdk.output.printable import make_printable
from convrag.sdk.tasks.scores import RESAMPLES, TOO_FEW, describe_gaps
from convrag_compare.leaderboard import Leaderboard, Row, Score, describe_shared
from convrag_compare.paired_differences import EXACT, FLIPS, describe_unmoved
from convrag_compare.run_result import PARTIAL, RunResult, format_run, get_levels
from convrag_compare.tables import (
    Table,
    format_exact,
    format_interval,
    format_number,
    format_p,
    format_signed,
)

_NAN = float("nan")


def format_leaderboard_files(board: Leaderboard, notes: Sequence[str] = ()) -> dict[str, str]:
    """The files of a leaderboard, name -> text; `notes` are further lines of leaderboard.md."""
    table = _make_main_table(board)
    parts = ["# Leaderboard", table.markdown(), _format_caption(board)]
    if remarks := [*notes, *list_findings(board), *_list_remarks(board)]:
        parts.append("\n".join(f"* {remark}" for remark in remarks))
    parts += [*_format_domains(board), *_format_all_measures(board)]
    return {
        "leaderboard.md": "\n\n".join(parts) + "\n",
        "leaderboard.csv": _make_full_table(board).csv(),
    }


def format_row_labels(board: Leaderboard, row: Row) -> list[str]:
    """The cells that identify a run: its levels, or its name where nothing was varied."""
    return list(get_levels(row.result, board.factors)) or [row.result.name]


def make_run_table(
    board: Leaderboard, columns: Sequence[str], format_row: Callable[[Row], Sequence[str]]
) -> Table:
    """A table with a row for each run: the cells that identify it, and those that `format_row`
    gives.
    """
    names = list(board.factors) or ["run"]
    rows = [[*format_row_labels(board, row), *format_row(row)] for row in board.rows]
    return Table([*names, *columns], rows, len(names))


def list_findings(board: Leaderboard) -> list[str]:
    """What a reader of the table must know first: what is shared, what no factor moves, what has no
    interval.
    """
    lines = list(describe_shared(board.shared, [*board.metrics, *board.left_out]))
    lines += [
        f"{name} is left out: it is no mean over turns, and the runs were scored on different turns."
        for name in board.left_out
    ]
    lines += _list_silences(board)
    lines += describe_unmoved(board.movements, board.metrics)
    if without := [name for name in board.metrics if _lacks_intervals(board, name)]:
        of = "" if len(without) == len(board.metrics) else f" of {', '.join(without)}"
        lines.append(f"No intervals and no p{of}: {TOO_FEW}.")
    return lines


def _list_silences(board: Leaderboard) -> list[str]:
    """What the metrics say of themselves in every run: what they could not measure, what a measure
    means.
    """
    told = [
        [
            line
            for title, report in summary.reports.items()
            if title.startswith("metrics.")
            for line in report["lines"]
        ]
        for row in board.rows
        if (summary := row.result.summary)
    ]
    return [
        line
        for line in dict.fromkeys(line for lines in told for line in lines)
        if all(line in x for x in told)
    ]


def _lacks_intervals(board: Leaderboard, measure: str) -> bool:
    """Whether turns were scored by a measure, of too few conversations for an interval in any run."""
    scored = any(measure in row.result.scores.measures for row in board.rows)
    return scored and all(row.scores[measure].low != row.scores[measure].low for row in board.rows)


def format_difference(board: Leaderboard, row: Row, measure: str) -> tuple[str, str, str]:
    """The difference to the baseline by a measure, its interval, and the corrected p-value."""
    if row.result is board.baseline:
        return "baseline", "", ""
    score = row.scores[measure]
    if (found := score.difference) is None:
        return "", "", ""
    return (
        format_signed(found.mean),
        format_interval(found.low, found.high, sign=True),
        format_p(score.corrected),
    )


def _make_main_table(board: Leaderboard) -> Table:
    columns = ["{} [95 %]", "to baseline [95 %]", "p (Holm)"] if board.baseline else ["{} [95 %]"]
    head = [*(name.format(measure) for measure in board.metrics for name in columns), "state"]
    return make_run_table(board, head, lambda row: [*_format_scores(board, row), row.result.label])


def _format_scores(board: Leaderboard, row: Row) -> Iterator[str]:
    for measure, score in row.scores.items():
        yield f"{format_number(score.mean)} {format_interval(score.low, score.high)}".strip()
        if board.baseline:
            difference, interval, p = format_difference(board, row, measure)
            yield from (f"{difference} {interval}".strip(), p)


def _make_full_table(board: Leaderboard) -> Table:
    """All numbers with every digit, also those by domain and the uncorrected p-values."""
    others = [name for name in board.measures if name not in board.metrics]
    by_domain = [f"{domain}:{name}" for domain in board.domains for name in board.measures]
    compared = [f"{measure}{suffix}" for measure in board.metrics for suffix in _SUFFIXES]
    head = ["state", *_GAPS, *compared, *others, *by_domain]
    return make_run_table(board, head, lambda row: _format_full_row(board, row, others))


_SUFFIXES = [
    "",
    "_low",
    "_high",
    "_difference",
    "_difference_low",
    "_difference_high",
    "_p",
    "_p_holm",
]
_SUFFIXES += ["_compared_turns", "_compared_conversations"]


def _format_full_row(board: Leaderboard, row: Row, others: Sequence[str]) -> list[str]:
    cells = [row.result.state, *_format_gaps(row)]
    for score in row.scores.values():
        cells += _format_full_score(score)
    cells += [format_exact(row.result.overall.get(name, _NAN)) for name in others]
    domains = row.result.summary.domains if row.result.summary else {}
    return cells + [
        format_exact(domains.get(place, {}).get(name, _NAN))
        for place in board.domains
        for name in board.measures
    ]


def _format_full_score(score: Score) -> list[str]:
    cells = [format_exact(number) for number in (score.mean, score.low, score.high)]
    if (found := score.difference) is None:
        return cells + [""] * 7
    cells += [
        format_exact(number)
        for number in (found.mean, found.low, found.high, found.p, score.corrected)
    ]
    return [*cells, str(found.turns), str(found.conversations)]


_GAPS = ["turns", "failed_turns", "always_fell_back"]


def _format_gaps(row: Row) -> list[str]:
    if (summary := row.result.summary) is None:
        return [""] * len(_GAPS)
    return [str(summary.turns), str(summary.failed), " ".join(summary.always_fell_back)]


def _format_caption(board: Leaderboard) -> str:
    if not board.metrics:
        return "Nothing was measured by which the runs could be compared."
    first, *others = board.metrics
    then = f", of equal ones by {others[0]}" if others else ""
    lines = [
        f"Means over the scored turns, best {first} first{then}, with 95 % intervals (a bootstrap over whole "
        f"conversations, {RESAMPLES:,} draws)."
    ]
    if board.baseline:
        lines.append(
            f"`to baseline` is the difference to the baseline, {_quote_run(board, board.baseline)}, on the "
            f"turns that both were scored on. `p` comes from a paired randomisation test, two-sided, with the "
            f"conversation as the unit: every way to flip the signs, or {FLIPS + 1:,} ways where more than {EXACT} "
            f"conversations differ. It is corrected by Holm's method for the number of "
            "distinct differences to the baseline in this measure: runs with the same score in every turn count once."
        )
    return " ".join(lines)


def _format_domains(board: Leaderboard) -> Iterator[str]:
    for measure in board.metrics if board.domains else ():
        yield f"## {measure} by domain"
        yield make_run_table(
            board, board.domains, partial(_format_domain_means, measure)
        ).markdown()


def _format_domain_means(measure: str, row: Row) -> list[str]:
    means = row.scores[measure].domains.values()
    return [
        f"{format_number(mean)} {format_interval(low, high)}".strip() for mean, low, high in means
    ]


def _format_all_measures(board: Leaderboard) -> Iterator[str]:
    if len(board.measures) > len(board.metrics):
        yield "## All measures"
        yield make_run_table(
            board,
            board.measures,
            lambda row: [format_number(row.result.overall.get(m, _NAN)) for m in board.measures],
        ).markdown()


def _quote_run(board: Leaderboard, result: RunResult) -> str:
    return f"`{' '.join(make_printable(format_run(result, board.factors)).split())}`"


def _list_remarks(board: Leaderboard) -> Iterator[str]:
    """Remarks on runs that failed, are partial, fell back or cannot be compared."""
    for row in board.rows:
        name = _quote_run(board, row.result)
        if not row.result.has_scores:
            yield f"{name}: {row.result.state} (cell {row.result.name})."
        if (summary := row.result.summary) is None:
            continue
        if row.result.state == PARTIAL:
            yield f"{name} is partial: {describe_gaps(summary)}."
        if summary.fallbacks:
            counts = ", ".join(f"{stage} {count}" for stage, count in summary.fallbacks.items())
            yield f"{name}: turns in which a stage fell back: {counts}."
        if board.baseline and row.result is not board.baseline:
            alone = [measure for measure, score in row.scores.items() if score.difference is None]
            if alone and row.result.has_scores:
                yield f"{name}: shares no turn scored by {', '.join(alone)} with the baseline."
