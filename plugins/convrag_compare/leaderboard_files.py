"""The leaderboard as Markdown, CSV and LaTeX, without times and costs: a resumed grid leaves the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convrag.score.bootstrap import RESAMPLES
from convrag.score.endings import describe_gaps
from convrag_compare.factors import format_run, get_levels
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.run_result import PARTIAL
from convrag_compare.significance import EXACT, FLIPS
from convrag_compare.tables import Table, format_exact, format_interval, format_number, format_p, format_signed


def format_leaderboard_files(board: Leaderboard, notes: Sequence[str] = ()) -> dict[str, str]:
    """The files of a leaderboard, name -> text; `notes` are further lines of leaderboard.md."""
    table = _make_main_table(board)
    parts = ["# Leaderboard", table.markdown(), _format_caption(board), *_format_domains(board)]
    if remarks := [*notes, *_list_remarks(board)]:
        parts.append("\n".join(f"* {remark}" for remark in remarks))
    return {
        "leaderboard.md": "\n\n".join(parts) + "\n",
        "leaderboard.csv": _make_full_table(board).csv(),
        "leaderboard.tex": table.latex(),
    }


def format_row_labels(board: Leaderboard, row: Row) -> list[str]:
    """The cells that identify a run: its levels, or its name where nothing was varied."""
    return list(get_levels(row.result, board.factors)) or [row.result.name]


def list_label_columns(board: Leaderboard) -> list[str]:
    """The headings of the columns that `format_row_labels` fills."""
    return list(board.factors) or ["run"]


def format_difference(board: Leaderboard, row: Row) -> list[str]:
    """The difference to the baseline, its interval, and the corrected p-value."""
    if row.result is board.baseline:
        return ["baseline", "", ""]
    if (found := row.difference) is None:
        return ["", "", ""]
    return [format_signed(found.mean), format_interval(found.low, found.high, sign=True), format_p(row.corrected)]


def _make_main_table(board: Leaderboard) -> Table:
    others = [name for name in board.measures if name != board.metric]
    head = [*list_label_columns(board), board.metric, "95 %", "difference", "95 %", "p (Holm)", *others, "state"]
    rows = [
        [
            *format_row_labels(board, row),
            format_number(row.mean),
            format_interval(row.low, row.high),
            *format_difference(board, row),
            *(format_number(row.result.overall.get(name, float("nan"))) for name in others),
            row.result.label,
        ]
        for row in board.rows
    ]
    return Table(head, rows, len(list_label_columns(board)))


def _make_full_table(board: Leaderboard) -> Table:
    """All numbers with every digit, also those by domain and the uncorrected p-value."""
    by_domain = [f"{domain}:{name}" for domain in board.domains for name in board.measures]
    difference = ["difference", "difference_low", "difference_high", "p", "p_holm"]
    shared = ["compared_turns", "compared_conversations"]
    head = [*list_label_columns(board), "state", *_GAPS, board.metric, "low", "high", *difference, *shared]
    head += [name for name in board.measures if name != board.metric] + by_domain
    return Table(head, [_format_full_row(board, row) for row in board.rows])


def _format_full_row(board: Leaderboard, row: Row) -> list[str]:
    found, summary = row.difference, row.result.summary
    cells = [*format_row_labels(board, row), row.result.state, *_format_gaps(row)]
    cells += map(format_exact, (row.mean, row.low, row.high))
    if found:
        cells += [*map(format_exact, (found.mean, found.low, found.high, found.p, row.corrected))]
        cells += [str(found.turns), str(found.conversations)]
    else:
        cells += [""] * 7
    nothing = float("nan")
    cells += [format_exact(row.result.overall.get(name, nothing)) for name in board.measures if name != board.metric]
    domains = summary.domains if summary else {}
    return cells + [
        format_exact(domains.get(place, {}).get(name, nothing)) for place in board.domains for name in board.measures
    ]


_GAPS = ["turns", "failed_turns", "always_fell_back"]


def _format_gaps(row: Row) -> list[str]:
    if (summary := row.result.summary) is None:
        return [""] * len(_GAPS)
    return [str(summary.turns), str(summary.failed), " ".join(summary.always_fell_back)]


def _format_caption(board: Leaderboard) -> str:
    if not board.measures:
        return "Nothing was measured: the data set has no relevance judgements, or `metrics` is empty."
    lines = [
        f"Mean {board.metric} over the scored turns, best first, with its 95 % interval (a bootstrap over whole "
        f"conversations, {RESAMPLES:,} draws)."
    ]
    if board.baseline:
        lines.append(
            f"`difference` is to the baseline, `{format_run(board.baseline, board.factors)}`, on the turns that both "
            f"were scored on. `p` is that of a paired randomisation test, two-sided, with the conversation as the unit"
            f": {_describe_flips(board)}. It is corrected by Holm's method for the number of runs compared."
        )
    return " ".join(lines)


def _describe_flips(board: Leaderboard) -> str:
    exact_ones = {row.difference.exact for row in board.rows if row.difference}
    flips = f"{FLIPS + 1:,} ways to flip the signs"
    if exact_ones == {True}:
        return "every way to flip the signs"
    return (
        f"every way to flip the signs, or {flips} where more than {EXACT} conversations differ" if exact_ones else flips
    )


def _format_domains(board: Leaderboard) -> Iterator[str]:
    if not board.domains:
        return
    yield f"## {board.metric} by domain"
    rows = [
        [
            *format_row_labels(board, row),
            *(
                f"{format_number(mean)} {format_interval(low, high)}".strip()
                for mean, low, high in row.domains.values()
            ),
        ]
        for row in board.rows
    ]
    yield Table([*list_label_columns(board), *board.domains], rows, len(list_label_columns(board))).markdown()


def _list_remarks(board: Leaderboard) -> Iterator[str]:
    """Remarks on runs that failed, are partial, fell back or cannot be compared in full."""
    turns = {len(row.result.scores.turns) for row in board.rows if row.result.scores.turns}
    if len(turns) > 1:
        yield f"The runs were scored on different numbers of turns ({', '.join(map(str, sorted(turns)))})."
    for row in board.rows:
        name = f"`{format_run(row.result, board.factors)}`"
        if not row.result.has_scores:
            yield f"{name}: {row.result.state} (cell {row.result.name})."
        if (summary := row.result.summary) is None:
            continue
        if row.result.state == PARTIAL:
            yield f"{name} is partial: {describe_gaps(summary)}."
        if summary.fallbacks:
            counts = ", ".join(f"{stage} {count}" for stage, count in summary.fallbacks.items())
            yield f"{name}: turns in which a stage fell back: {counts}."
        if row.difference and row.difference.turns < len(row.result.scores.turns):
            yield f"{name}: compared with the baseline on {row.difference.turns} shared turns."
        if board.baseline and row.result is not board.baseline and row.difference is None:
            yield f"{name}: shares no scored turn with the baseline."
