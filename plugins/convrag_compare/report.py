"""The report of a comparison: its measures, files, plots and numbers; and a grid's report, from its
cells' folders.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from convrag import ConfigError, DataError, Report
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.configuration import read_metric_names
from convrag.sdk.tasks.runs import Observers
from convrag.sdk.types import Cell, Sweep
from convrag_compare.costs import describe_calls, format_costs_files
from convrag_compare.effects import format_effects_file
from convrag_compare.leaderboard import Leaderboard, Row, build_leaderboard
from convrag_compare.leaderboard_files import (
    format_difference,
    format_leaderboard_files,
    format_row_labels,
    list_findings,
)
from convrag_compare.plots import draw_plots
from convrag_compare.run_result import (
    FAILED,
    NOT_RUN,
    RunResult,
    find_baseline,
    format_run,
    parse_overrides,
    read_run_result,
    settle_baseline,
)

TITLE = "leaderboard"


def compare_runs(
    results: Sequence[RunResult],
    metrics: Sequence[str],
    baseline: RunResult | None,
    folder: Path,
    *,
    remarks: Sequence[str] = (),
    notes: Sequence[str] = (),
    states: Mapping[str, str] | None = None,
) -> Report:
    """Compare runs. The plots are drawn into the folder; the texts of all other files are in the
    report.

    Args:
        results: the runs, in their own order.
        metrics: the measures to compare by, the one that decides the order first; with none, those
            that stand for the metrics of the runs.
        baseline: the run to compare with, if any.
        folder: of the grid, or of the task that compares.
        remarks: further lines of the report.
        notes: further lines of leaderboard.md.
        states: how each cell of a grid ended, by name, "reused" among them; None for runs of no
            grid.
    """
    board = build_leaderboard(results, _choose_metrics(results, metrics), baseline)
    lines = [*remarks, *list_findings(board)]
    (folder / "effects.md").unlink(missing_ok=True)  # of an earlier report; this one may have none
    lines += draw_plots(board, folder)
    if states is not None:
        lines.append(describe_calls(board, states))
    files = (
        format_leaderboard_files(board, notes)
        | format_effects_file(board)
        | format_costs_files(board)
    )
    lines.append(f"Leaderboard: {folder / 'leaderboard.md'}")
    return Report(TITLE, tuple(lines), _make_data(board), files)


def announce_comparison(
    report: Report, results: Sequence[RunResult], folder: Path, config: Mapping[str, Any]
) -> None:
    """Tell the plugins that runs have been compared.

    Args:
        report: what `compare_runs` returned.
        results: the runs.
        folder: of the grid, or of the task that compares.
        config: the configuration of the command.
    """
    runs = {result.name: result.folder for result in results if result.has_scores and result.folder}
    Observers().notify(
        "convrag_runs_compared", report=report, runs=runs, folder=folder, config=config
    )


def find_missing_metrics(results: Sequence[RunResult], metrics: Sequence[str]) -> str:
    """What is wrong with `sweep.metric`, in words: a run was not measured by it; empty where all
    were.
    """
    scored = [result for result in results if result.has_scores]
    for metric in metrics:
        if without := [result.name for result in scored if metric not in result.overall]:
            common = [
                name
                for name in scored[0].overall
                if all(name in result.overall for result in scored)
            ]
            who = (
                f"{len(without)} of {len(scored)} runs" if len(without) < len(scored) else "no run"
            )
            was = "were not measured" if len(without) < len(scored) else "was measured"
            there = ", ".join(common) or "no measure"
            return f"sweep.metric={metric}: {who} {was} by it. All runs have {there}."
    return ""


def _choose_metrics(results: Sequence[RunResult], wanted: Sequence[str]) -> list[str]:
    """The wanted measures that some run has; with none, those that stand for the metrics of the
    runs.
    """
    measures = dict.fromkeys(name for result in results for name in result.overall)
    if chosen := [name for name in wanted if name in measures]:
        return chosen
    main = dict.fromkeys(
        name for result in results if result.summary for name in result.summary.main_measures
    )
    found = [name for name in main if name in measures]
    return found or list(measures)[:1]


def _make_data(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard as data for JSON."""
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


def check_baseline(sweep: Sweep) -> list[str]:
    """What is wrong with `sweep.baseline`; empty where it is one of the cells, or the grid is not
    of runs.
    """
    if _is_of_runs(sweep):
        results = [RunResult(cell.id, parse_overrides(cell.overrides)) for cell in sweep.cells]
        try:
            find_baseline(results, sweep.config["sweep"]["baseline"])
        except ConfigError as error:
            return [str(error)]
    return []


def report_on(sweep: Sweep) -> Report | None:
    """Compare the cells of a grid that has ended; None for a grid of another task than run."""
    if not _is_of_runs(sweep) or not sweep.folder.exists():
        return None
    results = [_read_cell(cell) for cell in sweep.cells if not cell.same_as]
    baseline, remarks = _choose_baseline(sweep, results)
    states = {cell.id: cell.state or NOT_RUN for cell in sweep.cells}
    metrics = read_metric_names(sweep.config["sweep"]["metric"])
    report = compare_runs(
        results, metrics, baseline, sweep.folder, remarks=remarks, notes=sweep.notes, states=states
    )
    announce_comparison(report, results, sweep.folder, sweep.config)
    return report


def print_leaderboard(sweep: Sweep, reports: Sequence[Report]) -> None:
    """Print the leaderboard, with the state of each cell: ok, reused, partial, failed or not run."""
    from convrag.sdk.output.console import make_console
    from convrag_compare.tables import print_tables

    if report := next((each for each in reports if each.title == TITLE), None):
        print_tables(
            report, {cell.id: cell.state or NOT_RUN for cell in sweep.cells}, make_console()
        )


def _read_cell(cell: Cell) -> RunResult:
    choices = parse_overrides(cell.overrides)
    if cell.state not in ("ok", "reused", "partial"):
        return RunResult(
            cell.id, choices, FAILED if cell.state == "failed" else NOT_RUN, cell.error
        )
    try:
        return read_run_result(cell.folder, cell.id, choices)
    except DataError as error:
        return RunResult(cell.id, choices, FAILED, str(error))


def _choose_baseline(
    sweep: Sweep, results: Sequence[RunResult]
) -> tuple[RunResult | None, list[str]]:
    """The run to compare with, if there is one, and remarks for the report."""
    wanted = sweep.config["sweep"]["baseline"]
    named = find_baseline(
        [RunResult(cell.id, parse_overrides(cell.overrides)) for cell in sweep.cells], wanted
    ).name
    run = next(cell.same_as or cell.id for cell in sweep.cells if cell.id == named)
    found = next(result for result in results if result.name == run)
    return settle_baseline(found, results, wanted)


def _is_of_runs(sweep: Sweep) -> bool:
    task = sweep.config.get("task")
    return bool(sweep.cells) and isinstance(task, Mapping) and task.get(OPTION_KEY) == "run"
