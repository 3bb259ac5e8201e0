"""The comparison of a grid's cells: the check of its baseline, its report, and its leaderboard."""

from collections.abc import Mapping, Sequence

from convrag import ConfigError, DataError, Report
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.configuration import read_metric_names
from convrag.sdk.types import Cell, Sweep
from convrag_compare.baseline import find_baseline, settle_baseline
from convrag_compare.factors import parse_overrides
from convrag_compare.report import TITLE, announce_comparison, compare_runs
from convrag_compare.run_result import FAILED, NOT_RUN, RunResult, read_run_result


def check_baseline(sweep: Sweep) -> list[str]:
    """Check `sweep.baseline`: no message if it is one of the cells, or the grid is not of runs."""
    if _is_of_runs(sweep):
        try:
            _find_baseline_cell(sweep)
        except ConfigError as error:
            return [str(error)]
    return []


def report_on(sweep: Sweep) -> Report | None:
    """Compare the cells of a grid that has ended; None for a grid of another task than run."""
    if not _is_of_runs(sweep) or not sweep.folder.exists():
        return None
    results = [_read_cell(cell) for cell in sweep.cells if not cell.same_as]
    baseline, remarks = _choose_baseline(sweep, results)
    report = compare_runs(
        results,
        read_metric_names(sweep.config["sweep"]["metric"]),
        baseline,
        sweep.folder,
        remarks=remarks,
        notes=sweep.notes,
        states=_list_states(sweep),
    )
    announce_comparison(report, results, sweep.folder, sweep.config)
    return report


def print_leaderboard(sweep: Sweep, reports: Sequence[Report]) -> None:
    """Print the leaderboard, with the state in which each cell ended."""
    from convrag.sdk.output.console import make_console
    from convrag_compare.terminal_tables import print_tables

    for report in reports:
        if report.title == TITLE:
            print_tables(report, _list_states(sweep), make_console())
            return


def _list_states(sweep: Sweep) -> dict[str, str]:
    return {cell.id: cell.state or NOT_RUN for cell in sweep.cells}


def _read_cell(cell: Cell) -> RunResult:
    choices = parse_overrides(cell.overrides)
    if cell.state == "failed":
        return RunResult(cell.id, choices, FAILED, cell.error)
    if cell.state not in ("ok", "reused", "partial"):
        return RunResult(cell.id, choices, NOT_RUN, cell.error)
    try:
        return read_run_result(cell.folder, cell.id, choices)
    except DataError as error:
        return RunResult(cell.id, choices, FAILED, str(error))


def _choose_baseline(
    sweep: Sweep, results: Sequence[RunResult]
) -> tuple[RunResult | None, list[str]]:
    """Choose the run to compare with, if there is one, and write remarks for the report."""
    cell = _find_baseline_cell(sweep)
    run = cell.same_as or cell.id
    found = next(result for result in results if result.name == run)
    return settle_baseline(found, results, sweep.config["sweep"]["baseline"])


def _find_baseline_cell(sweep: Sweep) -> Cell:
    """Find the cell that `sweep.baseline` names. Raises ConfigError."""
    choices = [RunResult(cell.id, parse_overrides(cell.overrides)) for cell in sweep.cells]
    found = find_baseline(choices, sweep.config["sweep"]["baseline"])
    return next(cell for cell in sweep.cells if cell.id == found.name)


def _is_of_runs(sweep: Sweep) -> bool:
    task = sweep.config.get("task")
    return bool(sweep.cells) and isinstance(task, Mapping) and task.get(OPTION_KEY) == "run"
