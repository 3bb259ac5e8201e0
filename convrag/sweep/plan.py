"""The plan of a grid: its cells, listed and checked before anything is written, and what can be
said of them.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, NotReady
from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.records import Cell, Sweep
from convrag.config.choices import Command, translate_overrides
from convrag.config.compose import check_config, settings_of
from convrag.config.secret_checks import refuse_secrets
from convrag.config.settings import read_metric_names
from convrag.config.unused import find_unused_everywhere
from convrag.registry import plugins
from convrag.run.runner import NO_CONVERSATIONS
from convrag.store.fingerprint import digest
from convrag.sweep.cells import (
    config_sources,
    draw_cells,
    make_cells,
    name_cells,
    params_as_overrides,
    sweep_id,
)
from convrag.turn.observers import Observers
from convrag.turn.turn import Stages
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

_OPERATIONAL_SETTINGS = ("workers", "plugins", "store", "sweep")


@dataclass(frozen=True)
class Experiment:
    """What a cell really runs: `identity` stands for its results, `groups` are the groups whose
    stage it uses.

    `measures` are all that its metrics may give; None where one of the metrics does not say. `gaps`
    says of those that `sweep.metric` names, and that its data set cannot be measured by, why not:
    measure -> reason. `empty` says that its data set has no conversations.
    """

    identity: str
    groups: frozenset[str]
    measures: tuple[str, ...] | None = None
    gaps: Mapping[str, str] = field(default_factory=dict)
    empty: bool = False


def read_experiment(config: DictConfig) -> Experiment | None:
    """The experiment of a cell's configuration. Its stages are built, and not prepared.

    Returns:
        None where nobody can say: the task is not task=run, or a stage cannot be built (running the
        cell says why).
    """
    try:
        wiring = Wiring(config)
        if wiring.config["task"][OPTION_KEY] != "run":
            return None
        for group in ("dataset", *Stages._fields):
            wiring.get(group)
        empty = not any(True for _ in wiring.get("dataset").conversations())
        metrics = wiring.get_all("metrics").values()
        listed = [metric.list_measures() for metric in metrics]
        wanted = read_metric_names(wiring.config["sweep"]["metric"])
        gaps = {
            name: metric.explain_gap()
            for metric in metrics
            for name in metric.list_measures()
            if name in wanted
        }
    except Exception:  # of a plugin, which may raise anything; running the cell says it to the user
        log.info("the experiment of a cell cannot be told", exc_info=True)
        return None
    settings = {
        key: value
        for key, value in wiring.config.items()
        if key not in GROUPS and key not in _OPERATIONAL_SETTINGS
    }
    groups = frozenset(place.partition(".")[0] for place in wiring.stages)
    measures = tuple(name for names in listed for name in names) if all(listed) else None
    identity = digest([wiring.collect_fingerprints(), settings])
    return Experiment(
        identity, groups, measures, {name: gap for name, gap in gaps.items() if gap}, empty
    )


def mark_same(cells: Sequence[Cell], experiments: Sequence[Experiment | None]) -> list[Cell]:
    """The cells, with `state` and `same_as` of those set that are the same experiment as an earlier
    one.
    """
    first: dict[str, str] = {}
    marked = []
    for cell, experiment in zip(cells, experiments, strict=True):
        original = first.setdefault(experiment.identity, cell.id) if experiment else cell.id
        marked.append(
            cell if original == cell.id else replace(cell, state="same", same_as=original)
        )
    return marked


def explain_same(cells: Sequence[Cell], experiments: Sequence[Experiment | None]) -> list[str]:
    """A sentence for each factor that made no difference to some of the cells, and why.

    Args:
        cells: as `mark_same` gave them.
        experiments: one for each cell.
    """
    choices = {cell.id: _choices(cell) for cell in cells}
    used = {
        cell.id: each.groups if each else frozenset()
        for cell, each in zip(cells, experiments, strict=True)
    }
    equal: dict[str, list[str]] = {}
    for cell in cells:
        equal.setdefault(cell.same_as or cell.id, []).append(cell.id)
    concerned: dict[
        tuple[str, ...], list[str]
    ] = {}  # the factors that vary among equal cells -> all such cells
    for ids in equal.values():
        if len(ids) > 1:
            concerned.setdefault(tuple(_varied([choices[id_] for id_ in ids])), []).extend(ids)
    return [_explain(factors, ids, used) for factors, ids in concerned.items()]


def _choices(cell: Cell) -> dict[str, str]:
    return dict(override.lstrip("+").partition("=")[::2] for override in cell.overrides)


def _varied(choices: Sequence[Mapping[str, str]]) -> list[str]:
    keys = dict.fromkeys(key for each in choices for key in each)
    return [key for key in keys if len({each.get(key) for each in choices}) > 1]


def _explain(factors: Sequence[str], ids: Sequence[str], used: Mapping[str, frozenset[str]]) -> str:
    places = [
        factor.partition("@")[2] or factor for factor in factors
    ]  # clusterer@rewriter.clusterer
    what, it = " and ".join(places), "it" if len(factors) == 1 else "them"
    said = f"{what} made no difference to {len(ids)} cells"
    groups = {place.partition(".")[0] for place in places}
    if not groups <= set(GROUPS) or any(groups & used[id_] for id_ in ids):
        return f"{said}: the stages are the same with each value"
    return f"{said}: no stage of theirs uses {it}"


class ComposedCells:
    """Hydra's loader of configurations. One that was kept is handed out once: who asks for it
    changes it.

    Processes of a launcher get none of those that are kept, and compose their own.

    Args:
        loader: Hydra's own loader.
    """

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader
        self._kept: dict[tuple[str, ...], DictConfig] = {}

    def keep(self, overrides: Sequence[str], config: DictConfig) -> None:
        """Keep the configuration of a cell for the next `load_sweep_config` with these overrides."""
        self._kept[tuple(overrides)] = config

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        """Return the configuration of a cell: the one that was kept, or a new one."""
        kept = self._kept.pop(tuple(sweep_overrides), None)
        return (
            self._loader.load_sweep_config(master_config, sweep_overrides) if kept is None else kept
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return ComposedCells, (self._loader,)


@dataclass(frozen=True)
class Grid:
    """What Hydra knows of a grid.

    Args:
        config: of the command, Hydra's part in it.
        overrides: of the command line, lists of values among them.
        params: what a ready grid (conf/sweep/) brings: key -> values.
        loader: composes the configuration of a cell, and keeps it for the launcher.
        launcher: runs cells, in this process or in others.
        batch: how many cells the launcher gets at once; None for all.
    """

    config: DictConfig
    overrides: Sequence[str]
    params: Mapping[str, Any]
    loader: ComposedCells
    launcher: Launcher
    batch: int | None = None


def plan_sweep(grid: Grid) -> tuple[Sweep, Observers]:
    """The cells of a grid, checked, and who watches them. Raises ConvragError and Hydra's errors;
    writes nothing.
    """
    folder = Path(str(grid.config.hydra.sweep.dir)).absolute()
    parser = OverridesParser.create(grid.loader)  # type: ignore[arg-type]
    ready = translate_overrides(params_as_overrides(grid.params), plugins.load().registry)
    cells = make_cells([*ready, *grid.overrides], folder, parser)
    config = without_hydra(grid.config)
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
        check_config(
            without_hydra(each),
            Command(grid.overrides, {**each.hydra.runtime.choices}, in_grid=True),
        )
    experiments = [read_experiment(without_hydra(each)) for each in composed]
    cells = mark_same(cells, experiments)
    identifier = sweep_id(
        grid.params,
        grid.overrides,
        config_sources(grid.config.hydra.job, grid.config.hydra.runtime),
    )
    used = [
        (each, {*known.groups, "tracker"})
        for each, known in zip(composed, experiments, strict=True)
        if known
    ]
    unused = find_unused_everywhere(used, grid.overrides, plugins.load().registry)
    notes = (*explain_same(cells, experiments), *unused)
    sweep = Sweep(identifier, folder, tuple(cells), wiring.logged_config, notes=notes)
    if all(each and each.empty for each in experiments):
        raise ConfigError(NO_CONVERSATIONS)
    metrics = read_metric_names(settings.metric)
    if missing := find_missing_metrics(metrics, experiments):
        raise ConfigError(missing)
    if problems := [
        each for found in observers.collect("convrag_sweep_check", sweep=sweep) for each in found
    ]:
        raise NotReady(problems)
    for cell, each in zip(cells, composed, strict=True):
        if not cell.same_as:
            grid.loader.keep(cell.overrides, each)
    return sweep, observers


def without_hydra(config: DictConfig) -> DictConfig:
    """A configuration without Hydra's own part."""
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def find_missing_metrics(metrics: Sequence[str], experiments: Sequence[Experiment | None]) -> str:
    """What is wrong with `sweep.metric`, in words, before any cell runs: some cell cannot have it.
    Empty if nothing.
    """
    listed = [each.measures for each in experiments if each and each.measures is not None]
    for metric in metrics:
        if gap := next(
            (each.gaps[metric] for each in experiments if each and metric in each.gaps), ""
        ):
            return f"sweep.metric={metric}: {gap}"
        if without := sum(metric not in measures for measures in listed):
            there = [
                name
                for name in dict.fromkeys(listed[0])
                if all(name in measures for measures in listed)
            ]
            in_cells = (
                "" if without == len(experiments) else f" in {without} of {len(experiments)} cells"
            )
            names = ", ".join(there) or "none"
            return f"sweep.metric={metric}: no metric gives it{in_cells}. There are {names}"
    return ""
