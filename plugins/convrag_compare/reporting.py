"""All that is said about runs side by side: files, plots, and the table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag import Report
from convrag_compare.board_files import board_files, compared, named
from convrag_compare.costs import costs_files, proof
from convrag_compare.effects import effects_file
from convrag_compare.factors import label
from convrag_compare.leaderboard import Leaderboard, rank
from convrag_compare.outcome import OK, Outcome
from convrag_compare.plots import draw
from convrag_compare.tables import interval, number

if TYPE_CHECKING:
    from rich.table import Table

TITLE = "leaderboard"

_NOT_ALWAYS = ("heat_*.png", "quality_*.png", "turns.png", "effects.md")
"""Files that a former report may have left and this one may not make."""


def report(
    outcomes: Sequence[Outcome],
    metric: str,
    baseline: Outcome | None,
    folder: Path,
    *,
    remarks: Sequence[str] = (),
    notes: Sequence[str] = (),
    states: Mapping[str, str] | None = None,
    stored: Mapping[str, int] | None = None,
) -> Report:
    """Compare runs. The plots are drawn into the folder; all other files are handed over.

    Args:
        outcomes: the runs, in their own order.
        metric: the measure that decides; where nobody measured it, the first one that was.
        baseline: the run to compare with, if any.
        folder: of the grid, or of the task that compares.
        remarks: what is to be said besides.
        notes: what the leaderboard's file is to say besides.
        states: how each cell ended, by name, "reused" among them.
        stored: what the store gained meanwhile, by kind.
    """
    measures = list(dict.fromkeys(name for outcome in outcomes for name in outcome.overall))
    lines = list(remarks)
    if measures and metric not in measures:
        lines.append(f"sweep.metric={metric} was not measured; {measures[0]} decides. There are {', '.join(measures)}.")
        metric = measures[0]
    board = rank(outcomes, metric, baseline)
    for former in (path for pattern in _NOT_ALWAYS for path in folder.glob(pattern)):
        former.unlink()
    lines += draw(board, folder)
    if stored is not None:
        lines.append(proof(board, states or {}, stored))
    files = board_files(board, notes) | effects_file(board) | costs_files(board, states or {}, stored)
    lines.append(f"Leaderboard: {folder / 'leaderboard.md'}")
    return Report(TITLE, tuple(lines), _numbers(board), files)


def terminal_table(board: Report, states: Mapping[str, str], width: int) -> Table:
    """The leaderboard for a terminal of this width, with as many measures as it has room for.

    Args:
        board: as `report` made it.
        states: how each run ended, by its name; empty for runs of no grid.
        width: in characters.
    """
    from rich.table import Table

    rows = [dict(row) for row in board.numbers["rows"]]
    ended = [states.get(row["name"], row["state"]) for row in rows]
    names = board.numbers["factors"] or ["run"]
    fixed = [*names, board.numbers["metric"], "95 %", "difference", "p (Holm)", "state"]
    body = [
        [*row["levels"], number(row["mean"]), interval(row["low"], row["high"]), row["difference"], row["p"], state]
        for row, state in zip(rows, ended, strict=True)
    ]
    room = width - _width(fixed, body)
    padding = (0, 1) if room >= 0 else (0, 1, 0, 0)
    others = [name for name in board.numbers["measures"] if name != board.numbers["metric"]]
    for name in others:
        column = [number(row["scores"].get(name, float("nan"))) for row in rows]
        room -= max(len(name), 5) + 2
        if room < 0:
            break
        fixed.insert(-1, name)
        for cells, value in zip(body, column, strict=True):
            cells.insert(-1, value)
    table = Table(title="Leaderboard", title_justify="left", box=None, pad_edge=False, padding=padding)
    for index, name in enumerate(fixed):
        text = index < len(names) or name == "state"
        table.add_column(name, justify="left" if text else "right", overflow="fold", no_wrap=not text)
    for cells in body:
        table.add_row(*cells, style="red" if cells[-1] not in (OK, "reused") else None)
    return table


def _width(heading_: Sequence[str], body: Sequence[Sequence[str]]) -> int:
    columns = zip(heading_, *body, strict=True)
    return sum(max(map(len, column)) + 2 for column in columns)


def _numbers(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard as plain data."""
    rows = []
    for row in board.rows:
        difference, _, p = compared(board, row)
        rows.append(
            {
                "name": row.outcome.name,
                "levels": named(board, row),
                "state": row.outcome.state,
                "mean": row.mean,
                "low": row.low,
                "high": row.high,
                "difference": difference,
                "p": p,
                "scores": dict(row.outcome.overall),
            }
        )
    return {
        "metric": board.metric,
        "factors": list(board.factors),
        "measures": board.measures,
        "baseline": label(board.baseline, board.factors) if board.baseline else "",
        "rows": rows,
    }
