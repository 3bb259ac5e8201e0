"""A grid, from its plan to its reports: its cells are listed, checked, launched, and told of."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, ConvragError, NotReady
from convrag.api.records import Report
from convrag.api.sweeps import Cell, Sweep
from convrag.config.command import Command
from convrag.config.compose import check_config, settings_of
from convrag.config.secret_checks import refuse_secrets
from convrag.config.settings import read_metric_names
from convrag.config.stage_choices import translate_overrides
from convrag.config.unused import find_unused_everywhere
from convrag.registry import plugins
from convrag.run.observers import Observers
from convrag.run.writers import discard_unfinished
from convrag.score.endings import count
from convrag.store.abandonment import if_abandoned
from convrag.store.atomic import write_atomically
from convrag.store.folder_lock import FOLDER_LOCK, hold_folder
from convrag.sweep.cells import (
    CellsFailed,
    CellsPartial,
    draw_cells,
    make_cells,
    name_cells,
    params_as_overrides,
    sweep_id,
)
from convrag.sweep.experiments import explain_same, mark_same, read_experiment
from convrag.sweep.folders import config_sources
from convrag.sweep.metric_checks import check_metrics_were_measured, find_missing_metrics
from convrag.sweep.sweep_file import SWEEP_FILE, read_ending, write_sweep
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

HYDRA_FILE = "multirun.yaml"
"""The configuration of the grid, where Hydra's own sweeper puts it."""


@dataclass(frozen=True)
class Grid:
    """What Hydra knows of a grid.

    Args:
        config: of the command, Hydra's part in it.
        overrides: of the command line, lists of values among them.
        params: what a ready grid (conf/sweep/) brings: key -> values.
        loader: composes the configuration of a cell.
        launcher: runs cells, in this process or in others.
        batch: how many cells the launcher gets at once; None for all.
    """

    config: DictConfig
    overrides: Sequence[str]
    params: Mapping[str, Any]
    loader: ConfigLoader
    launcher: Launcher
    batch: int | None = None


def run_grid(grid: Grid) -> list[float]:
    """Run the cells of a grid that are wanted, each experiment once, and report on them.

    Returns:
        The value of `sweep.metric` of each cell that was launched, in their order.

    Raises:
        ConvragError: before the first cell, for whatever is wrong with the grid; nothing is written then.
        FolderInUse: another process runs it.
        CellsFailed: after the reports, where a cell failed.
        CellsPartial: after the reports, where none failed, and one is partial.
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

        with if_abandoned(close_interrupted):
            try:
                observers.notify("convrag_sweep_started", sweep=sweep)
                values = launch_cells(grid, [cell for cell in sweep.cells if not cell.same_as])
            except BaseException:
                try:
                    close_interrupted()
                except Exception:
                    log.warning("the grid could not be closed", exc_info=True)
                raise
        sweep = finish_sweep(sweep, started, observers)
    _raise_what_went_wrong(sweep, len(values))
    check_metrics_were_measured(sweep, read_metric_names(settings_of(_without_hydra(grid.config)).sweep.metric))
    return values


def _raise_what_went_wrong(sweep: Sweep, launched: int) -> None:
    failed = [cell for cell in sweep.cells if cell.state == "failed"]
    partial = [cell for cell in sweep.cells if cell.state == "partial"]
    counts = [f"{len(failed)} of {count(launched, 'cell')} failed"] if failed else []
    counts += [f"{len(partial)} of {count(launched, 'cell')} {'is' if len(partial) == 1 else 'are'} partial"] * bool(
        partial
    )
    again = "The same command runs them again, and asks only for what is missing."
    message = f"{', '.join(counts)}: see {sweep.folder}. {again}"
    if failed:
        raise CellsFailed(message, failed)
    if partial:
        raise CellsPartial(message, partial)


def plan_sweep(grid: Grid) -> tuple[Sweep, Observers]:
    """The cells of a grid, checked, and who watches them. Raises ConvragError and Hydra's errors; writes nothing."""
    folder = Path(str(grid.config.hydra.sweep.dir)).absolute()
    parser = OverridesParser.create(grid.loader)
    ready = translate_overrides(params_as_overrides(grid.params), plugins.load().registry)
    cells = make_cells([*ready, *grid.overrides], folder, parser)
    config = _without_hydra(grid.config)
    settings = settings_of(config).sweep
    if settings.sample is not None:
        cells = draw_cells(cells, settings.sample, settings.seed)
    cells = name_cells(cells)
    composed = [grid.loader.load_sweep_config(grid.config, list(cell.overrides)) for cell in cells]
    for each in composed:
        refuse_secrets(each)
    wiring = Wiring(config)
    tracker = wiring.get("tracker")
    wiring.check()
    observers = Observers(tracker)
    for each in composed:
        check_config(_without_hydra(each), Command(grid.overrides, {**each.hydra.runtime.choices}, in_grid=True))
    experiments = [read_experiment(_without_hydra(each)) for each in composed]
    cells = mark_same(cells, experiments)
    identifier = sweep_id(grid.params, grid.overrides, config_sources(grid.config.hydra.job, grid.config.hydra.runtime))
    used = [(each, known.groups) for each, known in zip(composed, experiments, strict=True) if known]
    unused = find_unused_everywhere(used, grid.overrides, plugins.load().registry)
    notes = (*explain_same(cells, experiments), *unused)
    sweep = Sweep(identifier, folder, tuple(cells), wiring.logged_config, notes=notes)
    metrics = read_metric_names(settings.metric)
    if missing := find_missing_metrics(metrics, experiments):
        raise ConfigError(missing)
    if problems := [each for found in observers.collect("convrag_sweep_check", sweep=sweep) for each in found]:
        raise NotReady(problems)
    return sweep, observers


def launch_cells(grid: Grid, cells: Sequence[Cell]) -> list[float]:
    """Hand the cells to the launcher; their values of `sweep.metric`. Raises what a job raised."""
    values: list[float] = []
    batch = grid.batch or len(cells)
    for first in range(0, len(cells), batch):
        overrides = [list(cell.overrides) for cell in cells[first : first + batch]]
        values += [_read_value(job) for job in grid.launcher.launch(overrides, initial_job_idx=first)]
    return values


def _read_value(job: JobReturn) -> float:
    if job.status is JobStatus.FAILED and isinstance(job._return_value, ConvragError):
        raise job._return_value  # Hydra's own property would print a line before its message
    return float(job.return_value)


def finish_sweep(sweep: Sweep, started: float, observers: Observers) -> Sweep:
    """Gather how the cells ended, report on them unless the grid was interrupted, and tell the observers."""
    sweep = replace(sweep, cells=tuple(read_ending(cell, started) for cell in sweep.cells))
    for cell in sweep.cells:
        if sweep.interrupted and not cell.state:
            discard_unfinished(cell.folder)
    if any(cell.folder.exists() for cell in sweep.cells):
        write_sweep(sweep, started)
    else:
        _remove_own_files(sweep.folder)
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


def _without_hydra(config: DictConfig) -> DictConfig:
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def _remove_own_files(folder: Path) -> None:
    """Hydra refused the command before its first cell: leave no folder behind, unless it holds something else."""
    for name in (SWEEP_FILE, HYDRA_FILE, FOLDER_LOCK):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _say(line: str) -> None:
    sys.stderr.write(f"convrag: {line}\n")
