"""The plan of a grid: its cells, composed and checked before anything is written."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser

from convrag.api.errors import ConfigError, NotReady
from convrag.api.records import Cell, Sweep
from convrag.config.choices import translate_overrides
from convrag.config.compose import Composed, compose_checked, leave_out_hydra, read_settings
from convrag.config.settings import SweepSettings, read_metric_names
from convrag.config.unused import find_unused_everywhere
from convrag.registry import plugins
from convrag.run.runner import NO_CONVERSATIONS
from convrag.sweep.cells import draw_cells, make_cells, name_cells
from convrag.sweep.experiments import (
    Experiment,
    explain_same,
    find_missing_metric,
    mark_same,
    read_experiment,
)
from convrag.sweep.folders import list_config_sources, make_sweep_id, params_as_overrides
from convrag.sweep.grid import Grid
from convrag.turn.observers import Observers
from convrag.turn.wiring import Wiring


def plan_sweep(grid: Grid) -> tuple[Sweep, Observers]:
    """Return the cells of a grid, checked, and the observers of the grid.

    Raises:
        ConvragError: whatever is wrong with the grid; nothing is written.
    """
    config = leave_out_hydra(grid.config)
    settings = read_settings(config).sweep
    cells = _list_cells(grid, settings)
    composed = [_compose_cell(grid, cell) for cell in cells]
    wiring = Wiring(config)
    tracker = wiring.get("tracker")
    wiring.check()
    observers = Observers(tracker)
    experiments = [read_experiment(each.config) for each in composed]
    cells = mark_same(cells, experiments)
    hydra = grid.config.hydra
    sources = list_config_sources(hydra.job, hydra.runtime)
    unused = _find_unused(grid, composed, experiments)
    sweep = Sweep(
        make_sweep_id(grid.params, grid.overrides, sources),
        Path(str(hydra.sweep.dir)).absolute(),
        tuple(cells),
        wiring.logged_config,
        notes=(*explain_same(cells, experiments), *unused),
    )
    _check_measures(settings, experiments)
    _ask_observers(sweep, observers)
    for cell, each in zip(cells, composed, strict=True):
        if not cell.same_as:
            grid.loader.keep(cell.overrides, each.full)
    return sweep, observers


def _list_cells(grid: Grid, settings: SweepSettings) -> list[Cell]:
    """Return the cells of a grid with their names, or a sample of them."""
    folder = Path(str(grid.config.hydra.sweep.dir)).absolute()
    parser = OverridesParser.create(grid.loader)  # type: ignore[arg-type]
    ready = translate_overrides(params_as_overrides(grid.params), plugins.load().registry)
    cells = make_cells([*ready, *grid.overrides], folder, parser)
    if settings.sample is not None:
        cells = draw_cells(cells, settings.sample, settings.seed)
    return name_cells(cells)


def _compose_cell(grid: Grid, cell: Cell) -> Composed:
    load = partial(grid.loader.load_sweep_config, grid.config, list(cell.overrides))
    return compose_checked(load, grid.overrides, in_grid=True)


def _find_unused(
    grid: Grid, composed: Sequence[Composed], experiments: Sequence[Experiment | None]
) -> list[str]:
    """Return a sentence for each choice that no cell uses."""
    used = []
    for each, experiment in zip(composed, experiments, strict=True):
        if experiment:
            used.append((each.full, {*experiment.groups, "tracker"}))
    return find_unused_everywhere(used, grid.overrides, plugins.load().registry)


def _check_measures(settings: SweepSettings, experiments: Sequence[Experiment | None]) -> None:
    """Raise ConfigError where a cell lacks a measure of `sweep.metric`, or all conversations."""
    if all(each and each.empty for each in experiments):
        raise ConfigError(NO_CONVERSATIONS)
    missing = find_missing_metric(read_metric_names(settings.metric), experiments)
    if missing:
        raise ConfigError(missing)


def _ask_observers(sweep: Sweep, observers: Observers) -> None:
    """Raise NotReady where an observer has something against the grid."""
    checks = observers.collect("convrag_sweep_check", sweep=sweep)
    problems = [problem for found in checks for problem in found]
    if problems:
        raise NotReady(problems)
