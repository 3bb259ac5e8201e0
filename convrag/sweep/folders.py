"""The folders of grids and cells: named by a hash of the overrides, so that the same command finds
them again.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from convrag.config.compose import CONFIG_NAME
from convrag.config.hydra import register_resolver
from convrag.store.fingerprint import digest

OPERATIONAL = ("hydra", "store.", "workers=", "report=", "tracker", "sweep.")
"""Beginnings of overrides that have no bearing on results, nor on the ids of grids and cells."""

SWEEPER = "hydra_plugins.convrag_sweeper.ConvragSweeper"
"""The `_target_` of our own sweeper. The jobs of others are runs by themselves, in new folders."""


def register_folder_names() -> None:
    """Make `${convrag.unique:}`, `${convrag.sweep:...}` and `${convrag.cell:...}` known."""
    register_resolver("convrag.unique", lambda: os.urandom(3).hex(), use_cache=True)
    register_resolver("convrag.sweep", name_sweep_folder, use_cache=True)
    register_resolver("convrag.cell", name_cell_folder)


def name_sweep_folder(
    sweeper: Mapping[str, Any], overrides: Sequence[str], job: Any, runtime: Any
) -> str:
    """Return the folder of a grid, which is the same for the same grid.

    A study of another sweeper gets a new one.

    Args:
        sweeper: Hydra's node of that name.
        overrides: the command's.
        job: Hydra's node of that name.
        runtime: Hydra's node of that name.
    """
    if sweeper.get("_target_") != SWEEPER:
        return f"{datetime.now():%Y-%m-%d-%H-%M-%S}-{os.urandom(3).hex()}"
    return make_sweep_id(sweeper.get("params"), overrides, list_config_sources(job, runtime))


def name_cell_folder(
    sweeper: Mapping[str, Any], overrides: Sequence[str], number: int | None
) -> str:
    """Return the folder of a cell; the number of a job of another sweeper."""
    return make_cell_id(overrides) if sweeper.get("_target_") == SWEEPER else str(number)


def list_config_sources(job: Any, runtime: Any) -> list[str]:
    """Return the folder of --config-dir and the name of --config-name, where they are given."""
    given = [source.path for source in runtime.config_sources if source.provider == "command-line"]
    sources = [os.path.relpath(path.removeprefix("file://")) for path in given]
    if job.config_name != CONFIG_NAME:
        sources.append(job.config_name)
    return sources


def params_as_overrides(params: Mapping[str, Any] | None) -> list[str]:
    """Return the factors of a ready grid (conf/sweep/) as overrides; those of the command line come
    after them, and win.
    """
    return [f"{key}={value}" for key, value in (params or {}).items()]


def make_sweep_id(
    params: Mapping[str, Any] | None, overrides: Iterable[str], sources: Iterable[str] = ()
) -> str:
    """Return the id of a grid, which names its folder: the same for overrides in any order.

    Args:
        params: the factors of a ready grid; a changed one is another grid.
        overrides: those of the command line.
        sources: where else its configuration comes from (see `list_config_sources`).
    """
    return make_cell_id([*params_as_overrides(params), *overrides, *sources])


def make_cell_id(overrides: Iterable[str]) -> str:
    """Return the id of a cell, which names its folder: a hash of overrides that bear on results."""
    bearing = [each for each in overrides if not each.lstrip("+~").startswith(OPERATIONAL)]
    return digest(sorted(bearing))[:12]
