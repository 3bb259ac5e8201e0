"""The report of a grid: its cells are read from their folders and compared."""

from collections.abc import Mapping, Sequence

from omegaconf import OmegaConf

from convrag import ConfigError, DataError, Report, Store
from convrag.sdk.groups import GROUPS, OPTION_KEY
from convrag.sdk.storage import get_store
from convrag.sdk.tasks.configuration import read_metric_names
from convrag.sdk.tasks.options import plugins
from convrag.sdk.types import Cell, Sweep
from convrag_compare.factors import find_baseline, settle_baseline
from convrag_compare.report import TITLE, announce_comparison, compare_runs
from convrag_compare.run_result import FAILED, NOT_RUN, RunResult, parse_overrides, read_run_result

_store_marks: dict[str, int] = {}
"""Id of a grid -> where the store stood when the grid began in this process."""


def check_baseline(sweep: Sweep) -> list[str]:
    """What is wrong with `sweep.baseline`; empty where it is one of the cells, or the grid is not of runs."""
    if _is_of_runs(sweep):
        results = [RunResult(cell.id, parse_overrides(cell.overrides)) for cell in sweep.cells]
        try:
            find_baseline(results, sweep.config["sweep"]["baseline"])
        except ConfigError as error:
            return [str(error)]
    return []


def mark_store(sweep: Sweep) -> None:
    """Note where the store stands now, so that the report can count what the grid adds to it."""
    _store_marks[sweep.id] = _open_store(sweep).get_last_row()


def report_on(sweep: Sweep) -> Report | None:
    """Compare the cells of a grid that has ended; None for a grid of another task than run."""
    stored = _count_stored(sweep)
    if not _is_of_runs(sweep) or not sweep.folder.exists():
        return None
    results = [_read_cell(cell) for cell in sweep.cells if not cell.same_as]
    baseline, remarks = _choose_baseline(sweep, results)
    states = {cell.id: cell.state or NOT_RUN for cell in sweep.cells}
    metrics = read_metric_names(sweep.config["sweep"]["metric"])
    report = compare_runs(
        results, metrics, baseline, sweep.folder, remarks=remarks, notes=sweep.notes, states=states, stored=stored
    )
    announce_comparison(report, results, sweep.folder, sweep.config)
    return report


def print_leaderboard(sweep: Sweep, reports: Sequence[Report]) -> None:
    """Print the leaderboard, with the state of each cell: ok, reused, partial, failed or not run."""
    from convrag.sdk.console import make_console
    from convrag_compare.terminal import print_tables

    if report := next((each for each in reports if each.title == TITLE), None):
        print_tables(report, {cell.id: cell.state or NOT_RUN for cell in sweep.cells}, make_console())


def _read_cell(cell: Cell) -> RunResult:
    choices = parse_overrides(cell.overrides)
    if cell.state not in ("ok", "reused", "partial"):
        return RunResult(cell.id, choices, FAILED if cell.state == "failed" else NOT_RUN, cell.error)
    try:
        return read_run_result(cell.folder, cell.id, choices)
    except DataError as error:
        return RunResult(cell.id, choices, FAILED, str(error))


def _choose_baseline(sweep: Sweep, results: Sequence[RunResult]) -> tuple[RunResult | None, list[str]]:
    """The run to compare with, if there is one, and remarks for the report."""
    wanted = sweep.config["sweep"]["baseline"]
    named = find_baseline([RunResult(cell.id, parse_overrides(cell.overrides)) for cell in sweep.cells], wanted).name
    run = next(cell.same_as or cell.id for cell in sweep.cells if cell.id == named)
    found = next(result for result in results if result.name == run)
    return settle_baseline(found, results, wanted)


def _is_of_runs(sweep: Sweep) -> bool:
    task = sweep.config.get("task")
    return bool(sweep.cells) and isinstance(task, Mapping) and task.get(OPTION_KEY) == "run"


def _count_stored(sweep: Sweep) -> dict[str, int] | None:
    """The results that the store gained during the grid, one for each distinct call, by stage method.

    Returns:
        None where the start of the grid was not noted in this process.
    """
    if (mark := _store_marks.pop(sweep.id, None)) is None:
        return None
    methods = _list_remembered_methods()
    return {
        kind: n
        for kind, n in _open_store(sweep).count_entries_since(mark).items()
        if kind.rpartition(".")[2] in methods
    }


def _list_remembered_methods() -> set[str]:
    """The stage methods whose calls are remembered and counted; stages may keep other things in the store too."""
    stages = set(GROUPS.values())
    return {name for stage in stages for name, member in vars(stage).items() if hasattr(member, "remembered")}


def _open_store(sweep: Sweep) -> Store:
    """Open the store of a grid, whose configuration may refer to the environment."""
    store = OmegaConf.to_container(OmegaConf.create(dict(sweep.config)).store, resolve=True)
    assert isinstance(store, dict)
    return get_store(store["path"], store.get("url"), plugins.open_database)
