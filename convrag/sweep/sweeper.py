"""A grid is run, from its plan to its reports: its cells are launched, and told of."""

import logging
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from math import nan

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from omegaconf import OmegaConf

from convrag.api.errors import ConvragError, JobLost, LauncherFailed
from convrag.api.records import EXIT_STATUS, Cell, Report, Sweep
from convrag.concurrency.cancellation import if_abandoned
from convrag.concurrency.locks import hold_folder
from convrag.config.compose import settings_of
from convrag.config.messages import HYDRA_ERRORS
from convrag.config.settings import Settings
from convrag.run.run_folder import discard_unfinished
from convrag.sdk.output.printable import count
from convrag.store.files import write_atomically
from convrag.sweep.cell import note_lost
from convrag.sweep.cells import CellsFailed, order_for_host
from convrag.sweep.plan import Grid, plan_sweep, without_hydra
from convrag.sweep.sweep_file import read_ending, write_sweep
from convrag.turn.observers import Observers

log = logging.getLogger(__name__)

HYDRA_FILE = "multirun.yaml"
"""The configuration of the grid, where Hydra's own sweeper puts it."""


def run_grid(grid: Grid) -> list[float]:
    """Run the cells of a grid that are wanted, each experiment once, and report on them.

    Returns:
        The value of `sweep.metric` of each cell that was launched, in their order.

    Raises:
        ConvragError: before the first cell, for whatever is wrong with the grid; nothing is written
            then.
        FolderInUse: another process runs it.
        CellsFailed: after the reports, where a cell failed or is partial.
    """
    sweep, observers = plan_sweep(grid)
    with hold_folder(sweep.folder):
        started = time.time()
        write_sweep(sweep, started)
        OmegaConf.save(grid.config, sweep.folder / HYDRA_FILE)
        for note in sweep.notes:
            _say(note)

        def close_interrupted() -> None:
            finish_sweep(replace(sweep, interrupted=True), started, observers)

        with if_abandoned(close_interrupted, slow=True):
            try:
                observers.notify("convrag_sweep_started", sweep=sweep)
                values = launch_cells(
                    grid, _order_cells(sweep, settings_of(without_hydra(grid.config))), started
                )
            except BaseException:
                try:
                    close_interrupted()
                except Exception:  # whatever it is, what ended the grid is to be raised
                    log.warning("the grid could not be closed", exc_info=True)
                raise
        sweep = finish_sweep(sweep, started, observers)
    _raise_what_went_wrong(sweep, len(values))
    return values


def _raise_what_went_wrong(sweep: Sweep, launched: int) -> None:
    states = [cell.state for cell in sweep.cells]
    if wrong := [state for state in ("failed", "partial") if state in states]:
        said = ", ".join(
            f"{states.count(state)} of {count(launched, 'cell')} {state}" for state in wrong
        )
        again = "The same command runs them again, and asks only for what is missing."
        raise CellsFailed(
            f"{said}: see {sweep.folder}. {again}",
            EXIT_STATUS["failed" if "failed" in wrong else "partial"],
        )


def _order_cells(sweep: Sweep, settings: Settings) -> list[Cell]:
    """The cells to run: as they were given, or with a store for many hosts, in an order of this
    host's own.
    """
    cells = [cell for cell in sweep.cells if not cell.same_as]
    return order_for_host(cells, platform.node()) if settings.store.url else cells


def launch_cells(grid: Grid, cells: Sequence[Cell], started: float) -> list[float]:
    """Hand the cells to the launcher.

    Args:
        grid: to which they belong.
        cells: those to run.
        started: when this try began, in seconds since 1970.

    Returns:
        Their values of `sweep.metric`; NaN where a job was lost.

    Raises:
        LauncherFailed: the launcher raised an error of its own, as submitit's does where a job was
            cancelled.
        Exception: what a job raised.
    """
    values: list[float] = []
    batch = grid.batch or len(cells)
    for first in range(0, len(cells), batch):
        part = cells[first : first + batch]
        jobs = _launch(grid.launcher, [list(cell.overrides) for cell in part], first)
        values += [_read_value(job, cell, started) for job, cell in zip(jobs, part, strict=True)]
    return values


def _launch(launcher: Launcher, overrides: Sequence[list[str]], first: int) -> Sequence[JobReturn]:
    try:
        return launcher.launch(overrides, initial_job_idx=first)
    except (ConvragError, OSError, *HYDRA_ERRORS):
        raise
    except Exception as error:
        raise LauncherFailed(
            f"{type(launcher).__name__} has given up: {error}\nCells that have ended are kept, and jobs on a cluster "
            "may go on. The same command waits for those that still run, and runs what is missing."
        ) from error


def _read_value(job: JobReturn, cell: Cell, started: float) -> float:
    if job.status is JobStatus.FAILED and isinstance(job._return_value, JobLost):
        note_lost(cell, started, job._return_value)
        return nan
    if job.status is JobStatus.FAILED and isinstance(job._return_value, ConvragError):
        raise job._return_value  # Hydra's own property would print a line before its message
    return float(job.return_value)


def finish_sweep(sweep: Sweep, started: float, observers: Observers) -> Sweep:
    """Gather how the cells ended, report on them unless the grid was interrupted, and tell the
    observers.
    """
    sweep = replace(sweep, cells=tuple(read_ending(cell, started) for cell in sweep.cells))
    for cell in sweep.cells:
        if sweep.interrupted and not cell.state:
            discard_unfinished(cell.folder)
    write_sweep(sweep, started)
    reports: list[Report] = []
    try:
        if not sweep.interrupted:
            reports = observers.collect("convrag_sweep_report", sweep=sweep)
            for name, text in (file for report in reports for file in report.files.items()):
                write_atomically(sweep.folder / name, text)
    finally:
        ends = observers.collect("convrag_sweep_finished", sweep=sweep, reports=reports)
    for line in [*(line for report in reports for line in report.lines), *ends]:
        _say(line)
    return sweep


def _say(line: str) -> None:
    sys.stderr.write(f"convrag: {line}\n")
