"""The ids of sweeps and cells, which name their folders: resolvers for conf/config.yaml."""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from omegaconf import OmegaConf

from convrag.config.compose import CONFIG_NAME
from convrag.store.fingerprint import digest

OPERATIONAL = ("hydra", "store.", "workers=", "report=", "tracker", "sweep.")
"""Beginnings of overrides that have no bearing on results, and so none on the ids of sweeps and cells."""

SWEEPER = "hydra_plugins.convrag_sweeper.ConvragSweeper"
"""`_target_` of our own sweeper. Jobs of another one are runs by themselves, in folders that nobody finds again."""


def register_folder_names() -> None:
    """Make `${convrag.unique:}`, `${convrag.sweep:...}` and `${convrag.cell:...}` known to OmegaConf."""
    OmegaConf.register_new_resolver("convrag.unique", lambda: os.urandom(3).hex(), use_cache=True, replace=True)
    OmegaConf.register_new_resolver("convrag.sweep", name_sweep_folder, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("convrag.cell", name_cell_folder, replace=True)


def name_sweep_folder(sweeper: Mapping[str, Any], overrides: Sequence[str], job: Any, runtime: Any) -> str:
    """The folder of a sweep: the same for the same grid, and a new one for each study of another sweeper.

    Args:
        sweeper: Hydra's node of that name.
        overrides: of the command.
        job: Hydra's node of that name.
        runtime: Hydra's node of that name.
    """
    if sweeper.get("_target_") != SWEEPER:
        return f"{datetime.now():%Y-%m-%d-%H-%M-%S}-{os.urandom(3).hex()}"
    return sweep_id(sweeper.get("params"), overrides, config_sources(job, runtime))


def name_cell_folder(sweeper: Mapping[str, Any], overrides: Sequence[str], number: int | None) -> str:
    """The folder of a cell, or of a job of another sweeper, by its number."""
    return cell_id(overrides) if sweeper.get("_target_") == SWEEPER else str(number)


def config_sources(job: Any, runtime: Any) -> list[str]:
    """Where a configuration comes from, if not from conf/config.yaml alone: --config-dir and --config-name."""
    given = [source.path for source in runtime.config_sources if source.provider == "command-line"]
    name = job.config_name
    return [os.path.relpath(path.removeprefix("file://")) for path in given] + ([name] if name != CONFIG_NAME else [])


def params_as_overrides(params: Mapping[str, Any] | None) -> list[str]:
    """What a ready grid (conf/sweep/) brings, as overrides; those of the command line come after, and win."""
    return [f"{key}={value}" for key, value in (params or {}).items()]


def sweep_id(params: Mapping[str, Any] | None, overrides: Iterable[str], sources: Iterable[str] = ()) -> str:
    """What stands for a grid, and names its folder: equal for the same overrides in any order.

    Args:
        params: what a ready grid brings; a changed one is another grid.
        overrides: of the command line.
        sources: where else its configuration comes from: --config-dir, --config-name.
    """
    return cell_id([*params_as_overrides(params), *overrides, *sources])


def cell_id(overrides: Iterable[str]) -> str:
    """What stands for a cell, and names its folder: a hash of those of its overrides that bear on results."""
    return digest(sorted(each for each in overrides if not each.lstrip("+~").startswith(OPERATIONAL)))[:12]
