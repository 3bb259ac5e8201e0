"""The report of a comparison: its measures, files, plots and numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from convrag import Report
from convrag.sdk.tasks.runs import Observers
from convrag_compare.costs_files import describe_calls, format_costs_files
from convrag_compare.effects_file import format_effects_file
from convrag_compare.factors import format_run
from convrag_compare.leaderboard import Leaderboard, Row, build_leaderboard
from convrag_compare.leaderboard_files import (
    format_difference,
    format_leaderboard_files,
    format_row_labels,
    list_findings,
)
from convrag_compare.leaderboard_latex import format_latex_table
from convrag_compare.plots.plot_files import draw_plots
from convrag_compare.run_result import RunResult

TITLE = "leaderboard"


def compare_runs(
    results: Sequence[RunResult],
    metrics: Sequence[str],
    baseline: RunResult | None,
    folder: Path,
    *,
    columns: Sequence[str] = (),
    remarks: Sequence[str] = (),
    notes: Sequence[str] = (),
    states: Mapping[str, str] | None = None,
) -> Report:
    """Compare runs. The plots are drawn into the folder; the report has the texts of other files.

    Args:
        results: the runs, in their own order.
        metrics: the measures to compare by, the one that decides the order first; with none, the
            main measures of the runs' metrics.
        baseline: the run to compare with, if any.
        folder: the folder of the grid, or of the task that compares.
        columns: the measures and factors of leaderboard.tex; by default, all that are compared.
            Runs are compared by these measures, too.
        remarks: further lines of the report.
        notes: further lines of leaderboard.md.
        states: how each cell of a grid ended, by name, "reused" among them; None for runs that do
            not belong to a grid.
    """
    chosen = _choose_metrics(results, metrics)
    measured = {name for result in results for name in result.overall}
    chosen += [name for name in columns if name in measured and name not in chosen]
    board = build_leaderboard(results, chosen, baseline)
    lines = [*remarks, *list_findings(board)]
    (folder / "effects.md").unlink(missing_ok=True)  # an earlier report's; this one may have none
    lines += draw_plots(board, folder)
    if states is not None:
        lines.append(describe_calls(board, states))
    lines.append(f"Leaderboard: {folder / 'leaderboard.md'}")
    files = {
        **format_leaderboard_files(board, notes),
        "leaderboard.tex": format_latex_table(board, columns),
        **format_effects_file(board),
        **format_costs_files(board),
    }
    return Report(TITLE, tuple(lines), _make_data(board), files)


def announce_comparison(
    report: Report, results: Sequence[RunResult], folder: Path, config: Mapping[str, Any]
) -> None:
    """Tell the plugins that runs have been compared.

    Args:
        report: the report that `compare_runs` returned.
        results: the runs.
        folder: the folder of the grid, or of the task that compares.
        config: the configuration of the command.
    """
    runs = {result.name: result.folder for result in results if result.has_scores and result.folder}
    Observers().notify(
        "convrag_runs_compared", report=report, runs=runs, folder=folder, config=config
    )


def find_missing_metrics(results: Sequence[RunResult], metrics: Sequence[str]) -> str:
    """Describe the first of `sweep.metric` that some run lacks; empty if all runs have all."""
    scored = [result for result in results if result.has_scores]
    for metric in metrics:
        lacking = sum(metric not in result.overall for result in scored)
        if not lacking:
            continue
        common = [
            name for name in scored[0].overall if all(name in result.overall for result in scored)
        ]
        if lacking < len(scored):
            problem = f"{lacking} of {len(scored)} runs were not measured by it"
        else:
            problem = "no run was measured by it"
        available = ", ".join(common) or "no measure"
        return f"sweep.metric={metric}: {problem}. All runs have {available}."
    return ""


def _choose_metrics(results: Sequence[RunResult], wanted: Sequence[str]) -> list[str]:
    """Choose the wanted measures that some run has; with none, the runs' main measures."""
    measures = dict.fromkeys(name for result in results for name in result.overall)
    chosen = [name for name in wanted if name in measures]
    if chosen:
        return chosen
    main: dict[str, None] = {}
    for result in results:
        if result.summary:
            main |= dict.fromkeys(result.summary.main_measures)
    available = [name for name in main if name in measures]
    return available or list(measures)[:1]


def _make_data(board: Leaderboard) -> dict[str, Any]:
    """Make the data of the leaderboard for JSON."""
    return {
        "metrics": board.metrics,
        "factors": list(board.factors),
        "measures": board.measures,
        "baseline": format_run(board.baseline, board.factors) if board.baseline else "",
        "rows": [_make_row(board, row) for row in board.rows],
    }


def _make_row(board: Leaderboard, row: Row) -> dict[str, Any]:
    compared = {}
    for measure, score in row.scores.items():
        difference, _, p = format_difference(board, row, measure)
        compared[measure] = {
            "mean": score.mean,
            "low": score.low,
            "high": score.high,
            "difference": difference,
            "p": p,
        }
    return {
        "name": row.result.name,
        "levels": format_row_labels(board, row),
        "state": row.result.state,
        "label": row.result.label,
        "compared": compared,
        "scores": dict(row.result.overall),
    }
