"""The leaderboard as files. They hold no time and no cost: a grid that was resumed has the same, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convrag.score.bootstrap import RESAMPLES
from convrag_compare.factors import label, settings
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.outcome import OK
from convrag_compare.significance import EXACT, FLIPS
from convrag_compare.tables import Table, exact, interval, number, p_value, signed


def board_files(board: Leaderboard, notes: Sequence[str] = ()) -> dict[str, str]:
    """Name -> text; `notes` are added to leaderboard.md."""
    table = _readable(board)
    parts = ["# Leaderboard", table.markdown(), _caption(board), *_by_domain(board)]
    if remarks := [*notes, *_remarks(board)]:
        parts.append("\n".join(f"* {remark}" for remark in remarks))
    return {
        "leaderboard.md": "\n\n".join(parts) + "\n",
        "leaderboard.csv": _complete(board).csv(),
        "leaderboard.tex": table.latex(),
    }


def named(board: Leaderboard, row: Row) -> list[str]:
    """What tells a run from the others: its levels, or its name where nothing was varied."""
    return list(settings(row.outcome, board.factors)) or [row.outcome.name]


def heading(board: Leaderboard) -> list[str]:
    """Of the columns that `named` fills."""
    return list(board.factors) or ["run"]


def compared(board: Leaderboard, row: Row) -> list[str]:
    """Difference to the baseline, its interval, and the p-value."""
    if row.outcome is board.baseline:
        return ["baseline", "", ""]
    if (found := row.difference) is None:
        return ["", "", ""]
    return [signed(found.mean), interval(found.low, found.high, sign=True), p_value(row.corrected)]


def _readable(board: Leaderboard) -> Table:
    others = [name for name in board.measures if name != board.metric]
    head = [*heading(board), board.metric, "95 %", "difference", "95 %", "p (Holm)", *others, "state"]
    rows = [
        [
            *named(board, row),
            number(row.mean),
            interval(row.low, row.high),
            *compared(board, row),
            *(number(row.outcome.overall.get(name, float("nan"))) for name in others),
            row.outcome.state,
        ]
        for row in board.rows
    ]
    return Table(head, rows, len(heading(board)))


def _complete(board: Leaderboard) -> Table:
    """Every number in full, also those by domain and the uncorrected p-value."""
    places = [f"{place}:{name}" for place in board.domains for name in board.measures]
    difference = ["difference", "difference_low", "difference_high", "p", "p_holm"]
    shared = ["compared_turns", "compared_conversations"]
    head = [*heading(board), "state", board.metric, "low", "high", *difference, *shared]
    head += [name for name in board.measures if name != board.metric] + places
    return Table(head, [_complete_row(board, row) for row in board.rows])


def _complete_row(board: Leaderboard, row: Row) -> list[str]:
    found, summary = row.difference, row.outcome.summary
    cells = [*named(board, row), row.outcome.state, *map(exact, (row.mean, row.low, row.high))]
    if found:
        cells += [*map(exact, (found.mean, found.low, found.high, found.p, row.corrected))]
        cells += [str(found.turns), str(found.conversations)]
    else:
        cells += [""] * 7
    nothing = float("nan")
    cells += [exact(row.outcome.overall.get(name, nothing)) for name in board.measures if name != board.metric]
    domains = summary.domains if summary else {}
    return cells + [
        exact(domains.get(place, {}).get(name, nothing)) for place in board.domains for name in board.measures
    ]


def _caption(board: Leaderboard) -> str:
    if not board.measures:
        return "Nothing was measured: the data set has no relevance judgements, or `metrics` is empty."
    lines = [
        f"Mean {board.metric} over the scored turns, best first, with its 95 % interval (a bootstrap over whole "
        f"conversations, {RESAMPLES:,} draws)."
    ]
    if board.baseline:
        lines.append(
            f"`difference` is to the baseline, `{label(board.baseline, board.factors)}`, on the turns that both were "
            f"scored on. `p` is that of a paired randomisation test, two-sided, with the conversation as the unit: "
            f"{_tried(board)}. It is corrected by Holm's method for the number of runs compared."
        )
    return " ".join(lines)


def _tried(board: Leaderboard) -> str:
    exact_ones = {row.difference.exact for row in board.rows if row.difference}
    flips = f"{FLIPS + 1:,} ways to flip the signs"
    if exact_ones == {True}:
        return "every way to flip the signs"
    return (
        f"every way to flip the signs, or {flips} where more than {EXACT} conversations differ" if exact_ones else flips
    )


def _by_domain(board: Leaderboard) -> Iterator[str]:
    if not board.domains:
        return
    yield f"## {board.metric} by domain"
    rows = [
        [
            *named(board, row),
            *(f"{number(mean)} {interval(low, high)}".strip() for mean, low, high in row.domains.values()),
        ]
        for row in board.rows
    ]
    yield Table([*heading(board), *board.domains], rows, len(heading(board))).markdown()


def _remarks(board: Leaderboard) -> Iterator[str]:
    """What a reader must know beside the numbers."""
    turns = {len(row.outcome.scores.turns) for row in board.rows if row.outcome.scores.turns}
    if len(turns) > 1:
        yield f"The runs were scored on different numbers of turns ({', '.join(map(str, sorted(turns)))})."
    for row in board.rows:
        name = f"`{label(row.outcome, board.factors)}`"
        if row.outcome.state != OK:
            yield f"{name}: {row.outcome.state} (cell {row.outcome.name})."
        if (summary := row.outcome.summary) is None:
            continue
        if summary.stopped:
            yield f"{name}: stopped after {summary.turns} turns."
        if summary.failed:
            yield f"{name}: {summary.failed} of {summary.turns} turns failed."
        if summary.fallbacks:
            counts = ", ".join(f"{stage} {count}" for stage, count in summary.fallbacks.items())
            yield f"{name}: turns in which a stage fell back: {counts}."
        if row.difference and row.difference.turns < len(row.outcome.scores.turns):
            yield f"{name}: compared with the baseline on {row.difference.turns} shared turns."
        if board.baseline and row.outcome is not board.baseline and row.difference is None:
            yield f"{name}: shares no scored turn with the baseline."
