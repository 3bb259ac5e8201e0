"""A grid's report: its cells are read from their folders and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convrag import Cell, ConfigError, DataError, Report, Sweep
from convrag.api.stages import OPTION_KEY
from convrag_compare.factors import find_baseline
from convrag_compare.outcome import FAILED, NOT_RUN, OK, Outcome, choices_of, read_outcome
from convrag_compare.reporting import TITLE, report, terminal_table


def check(sweep: Sweep) -> list[str]:
    """What is wrong with `sweep.baseline`, if anything."""
    if _concerns_runs(sweep):
        outcomes = [Outcome(cell.id, choices_of(cell.overrides)) for cell in sweep.cells]
        try:
            find_baseline(outcomes, sweep.config["sweep"]["baseline"])
        except ConfigError as error:
            return [str(error)]
    return []


def report_on(sweep: Sweep, stored: Mapping[str, int] | None) -> Report | None:
    """Compare the cells; None for a grid of something else than runs.

    Args:
        sweep: with the states of its cells.
        stored: what the store gained meanwhile, by kind.
    """
    if not _concerns_runs(sweep) or not sweep.folder.exists():
        return None
    outcomes = [_outcome(cell) for cell in sweep.cells if not cell.same_as]
    baseline, remarks = _baseline(sweep, outcomes)
    states = {cell.id: cell.state or NOT_RUN for cell in sweep.cells}
    metric = str(sweep.config["sweep"]["metric"])
    notes = sweep.notes
    return report(outcomes, metric, baseline, sweep.folder, remarks=remarks, notes=notes, states=states, stored=stored)


def show(sweep: Sweep, reports: Sequence[Report]) -> None:
    """Print the leaderboard, with the cells that were reused marked as such."""
    from rich.console import Console

    if board := next((each for each in reports if each.title == TITLE), None):
        console = Console()
        states = {cell.id: cell.state or NOT_RUN for cell in sweep.cells}
        console.print(terminal_table(board, states, console.width))


def _outcome(cell: Cell) -> Outcome:
    choices = choices_of(cell.overrides)
    if cell.state not in ("ok", "reused"):
        return Outcome(cell.id, choices, FAILED if cell.state == "failed" else NOT_RUN, cell.error)
    try:
        return read_outcome(cell.folder, cell.id, choices)
    except DataError as error:
        return Outcome(cell.id, choices, FAILED, str(error))


def _baseline(sweep: Sweep, outcomes: Sequence[Outcome]) -> tuple[Outcome | None, list[str]]:
    """The run to compare with, if there is one, and what must be said about it."""
    wanted = sweep.config["sweep"]["baseline"]
    named = find_baseline([Outcome(cell.id, choices_of(cell.overrides)) for cell in sweep.cells], wanted).name
    run = next(cell.same_as or cell.id for cell in sweep.cells if cell.id == named)
    found = next(outcome for outcome in outcomes if outcome.name == run)
    if found.state == OK:
        return found, []
    if wanted:
        return None, [f"The baseline ({wanted}) did not end well: nothing is compared with it."]
    stand_in = next((outcome for outcome in outcomes if outcome.state == OK), None)
    said = "The first cell did not end well: the first one that did is the baseline."
    return stand_in, [said] if stand_in else []


def _concerns_runs(sweep: Sweep) -> bool:
    task = sweep.config.get("task")
    return bool(sweep.cells) and isinstance(task, Mapping) and task.get(OPTION_KEY) == "run"
