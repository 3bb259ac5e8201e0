"""Runs a grid, from its plan to its reports."""

import logging
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from math import nan

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from omegaconf import OmegaConf

from convrag.api.errors import ConvragError, JobLost, LauncherFailed
from convrag.api.records import EXIT_STATUS, Cell, Report, Sweep
from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.concurrency.locks import hold_folder
from convrag.config.compose import leave_out_hydra, read_settings
from convrag.config.hydra import read_result
from convrag.config.messages import HYDRA_ERRORS
from convrag.config.settings import Settings
from convrag.run.run_folder import discard_unfinished
from convrag.sdk.output.printable import count
from convrag.store.files import write_atomically
from convrag.sweep.cell import note_lost
from convrag.sweep.cells import CellsFailed, order_for_host
from convrag.sweep.grid import Grid
from convrag.sweep.plan import plan_sweep
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
            _write(note)

        def close_interrupted() -> None:
            finish_sweep(replace(sweep, interrupted=True), started, observers)

        with cleanup_at_exit(close_interrupted, slow=True):
            try:
                observers.notify("convrag_sweep_started", sweep=sweep)
                settings = read_settings(leave_out_hydra(grid.config))
                values = launch_cells(grid, _order_cells(sweep, settings), started)
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
    wrong = [state for state in ("failed", "partial") if state in states]
    if not wrong:
        return
    cells = count(launched, "cell")
    numbers = ", ".join(f"{states.count(state)} of {cells} {state}" for state in wrong)
    again = "The same command runs them again, and asks only for what is missing."
    raise CellsFailed(f"{numbers}: see {sweep.folder}. {again}", EXIT_STATUS[wrong[0]])


def _order_cells(sweep: Sweep, settings: Settings) -> list[Cell]:
    """Return the cells to run; with a store for many hosts, each host has an order of its own."""
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
            f"{type(launcher).__name__} has given up: {error}\n"
            "Cells that have ended are kept, and jobs on a cluster may go on. The same command "
            "waits for those that still run, and runs what is missing."
        ) from error


def _read_value(job: JobReturn, cell: Cell, started: float) -> float:
    result = read_result(job)
    if isinstance(result, JobLost):
        note_lost(cell, started, result)
        return nan
    if isinstance(result, Exception):
        raise result
    return float(result)


def finish_sweep(sweep: Sweep, started: float, observers: Observers) -> Sweep:
    """Read how the cells ended, report on them unless interrupted, and tell the observers."""
    sweep = replace(sweep, cells=tuple(read_ending(cell, started) for cell in sweep.cells))
    for cell in sweep.cells:
        if sweep.interrupted and not cell.state:
            discard_unfinished(cell.folder)
    write_sweep(sweep, started)
    reports: list[Report] = []
    try:
        if not sweep.interrupted:
            reports = observers.collect("convrag_sweep_report", sweep=sweep)
            for report in reports:
                for name, text in report.files.items():
                    write_atomically(sweep.folder / name, text)
    finally:
        ends = observers.collect("convrag_sweep_finished", sweep=sweep, reports=reports)
    lines = [line for report in reports for line in report.lines]
    for line in [*lines, *ends]:
        _write(line)
    return sweep


def _write(line: str) -> None:
    sys.stderr.write(f"convrag: {line}\n")
