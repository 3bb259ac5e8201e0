"""The report of a comparison: its files, its plots, and the table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag import Report
from convrag_compare.costs import check_call_counts, format_costs_files
from convrag_compare.effects import format_effects_file
from convrag_compare.factors import format_run
from convrag_compare.leaderboard import Leaderboard, build_leaderboard
from convrag_compare.leaderboard_files import format_difference, format_leaderboard_files, format_row_labels
from convrag_compare.plots import draw_plots
from convrag_compare.run_result import OK, PARTIAL, RunResult
from convrag_compare.tables import format_interval, format_number

if TYPE_CHECKING:
    from rich.table import Table

TITLE = "leaderboard"

_OPTIONAL_FILES = ("heat_*.png", "quality_*.png", "turns.png", "effects.md")
"""Files that an earlier report may have left, and that this one may not write again."""


def compare_runs(
    results: Sequence[RunResult],
    metric: str,
    baseline: RunResult | None,
    folder: Path,
    *,
    remarks: Sequence[str] = (),
    notes: Sequence[str] = (),
    states: Mapping[str, str] | None = None,
    stored: Mapping[str, int] | None = None,
) -> Report:
    """Compare runs. The plots are drawn into the folder; the texts of all other files are in the report.

    Args:
        results: the runs, in their own order.
        metric: the measure that decides; the first one that was measured, where this one was not.
        baseline: the run to compare with, if any.
        folder: of the grid, or of the task that compares.
        remarks: further lines of the report.
        notes: further lines of leaderboard.md.
        states: how each cell ended, by name, "reused" among them.
        stored: the results that the store gained, by stage method; None where they were not counted.
    """
    measures = list(dict.fromkeys(name for result in results for name in result.overall))
    lines = list(remarks)
    if measures and metric not in measures:
        lines.append(f"sweep.metric={metric} was not measured; {measures[0]} decides. There are {', '.join(measures)}.")
        metric = measures[0]
    board = build_leaderboard(results, metric, baseline)
    for old in (path for pattern in _OPTIONAL_FILES for path in folder.glob(pattern)):
        old.unlink()
    lines += draw_plots(board, folder)
    if stored is not None:
        lines.append(check_call_counts(board, states or {}, stored))
    files = (
        format_leaderboard_files(board, notes)
        | format_effects_file(board)
        | format_costs_files(board, states or {}, stored)
    )
    lines.append(f"Leaderboard: {folder / 'leaderboard.md'}")
    return Report(TITLE, tuple(lines), _make_data(board), files)


def make_terminal_table(board: Report, states: Mapping[str, str], width: int) -> Table:
    """The leaderboard for a terminal of this width, with as many measures as it has room for.

    Args:
        board: what `compare_runs` returns.
        states: how each run ended, by its name; empty for runs of no grid.
        width: in characters.
    """
    from rich.table import Table

    rows = [dict(row) for row in board.numbers["rows"]]
    ended = [_choose_label(row, states) for row in rows]
    names = board.numbers["factors"] or ["run"]
    fixed = [*names, board.numbers["metric"], "95 %", "difference", "p (Holm)", "state"]
    body = [
        [
            *row["levels"],
            format_number(row["mean"]),
            format_interval(row["low"], row["high"]),
            row["difference"],
            row["p"],
            state,
        ]
        for row, state in zip(rows, ended, strict=True)
    ]
    room = width - _measure_width(fixed, body)
    padding = (0, 1) if room >= 0 else (0, 1, 0, 0)
    others = [name for name in board.numbers["measures"] if name != board.numbers["metric"]]
    for name in others:
        column = [format_number(row["scores"].get(name, float("nan"))) for row in rows]
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
        table.add_row(*cells, style=_choose_style(cells[-1]))
    return table


def _choose_label(row: Mapping[str, Any], states: Mapping[str, str]) -> str:
    """How a run ended: in its grid ("reused"), if it is of one; of a partial run with counts."""
    return str(row["label"] if row["state"] == PARTIAL else states.get(row["name"], row["state"]))


def _choose_style(label: str) -> str | None:
    if label in (OK, "reused"):
        return None
    return "yellow" if label.startswith(PARTIAL) else "red"


def _measure_width(heading_: Sequence[str], body: Sequence[Sequence[str]]) -> int:
    columns = zip(heading_, *body, strict=True)
    return sum(max(map(len, column)) + 2 for column in columns)


def _make_data(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard as data for JSON."""
    rows = []
    for row in board.rows:
        difference, _, p = format_difference(board, row)
        rows.append(
            {
                "name": row.result.name,
                "levels": format_row_labels(board, row),
                "state": row.result.state,
                "label": row.result.label,
                "mean": row.mean,
                "low": row.low,
                "high": row.high,
                "difference": difference,
                "p": p,
                "scores": dict(row.result.overall),
            }
        )
    return {
        "metric": board.metric,
        "factors": list(board.factors),
        "measures": board.measures,
        "baseline": format_run(board.baseline, board.factors) if board.baseline else "",
        "rows": rows,
    }
