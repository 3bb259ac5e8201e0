"""The cells of a grid: every combination of its factors, their ids, which name their folders, and a
sample of them.
"""

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from convrag.api.errors import ConfigError, ConvragError
from convrag.api.records import EXIT_STATUS, Cell
from convrag.config.compose import CONFIG_NAME
from convrag.store.fingerprint import digest


class CellsFailed(ConvragError):
    """Jobs failed, or were partial, and must not end others. The command ends with `exit_status`."""

    def __init__(self, message: str, exit_status: int = EXIT_STATUS["failed"]) -> None:
        self.exit_status = exit_status
        super().__init__(message)


def make_cells(overrides: Sequence[str], folder: Path, parser: OverridesParser) -> list[Cell]:
    """Every combination of the factors, in the order in which Hydra's own sweeper gives them; each
    cell once.

    Args:
        overrides: of the grid; of two for one key, the later one counts.
        folder: of the grid.
        parser: knows the configuration, for a factor like `rewriter=glob(*)`.

    Raises:
        ConfigError: a factor has no list of values.
    """
    factors = {
        each.get_key_element(): _values(each) for each in parser.parse_overrides(list(overrides))
    }
    cells: dict[str, Cell] = {}
    for values in product(*factors.values()):
        combination = tuple(f"{key}={value}" for key, value in zip(factors, values, strict=True))
        identifier = cell_id(combination)
        cells.setdefault(identifier, Cell(identifier, combination, folder / identifier))
    return list(cells.values())


def _values(override: Override) -> list[str]:
    if not override.is_sweep_override():
        return [override.get_value_element_as_str()]
    if not override.is_discrete_sweep():
        raise ConfigError(
            f"{override.input_line}: a grid needs a list of values; hydra/sweeper=optuna takes intervals"
        )
    return list(override.sweep_string_iterator())


def draw_cells(cells: Sequence[Cell], number: int, seed: int) -> list[Cell]:
    """So many cells at random, in their own order."""
    ordered = sorted(cells, key=lambda cell: cell.id)
    chosen = {cell.id for cell in random.Random(seed).sample(ordered, min(number, len(ordered)))}
    return [cell for cell in cells if cell.id in chosen]


def order_for_host(cells: Sequence[Cell], host: str) -> list[Cell]:
    """Put cells into an order of this host's own, which is always the same.

    Hosts that run one grid with a common store then begin at different cells, and find later that
    most of the calls of the others' cells are stored.
    """
    return sorted(cells, key=lambda cell: digest([host, cell.id]))


def name_cells(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with their names: the overrides in which they differ; one that is alone is called
    by all it has.
    """
    common = set.intersection(*(set(cell.overrides) for cell in cells)) if len(cells) > 1 else set()
    return [
        replace(
            cell, name=" ".join(each.lstrip("+") for each in cell.overrides if each not in common)
        )
        for cell in cells
    ]


OPERATIONAL = ("hydra", "store.", "workers=", "report=", "tracker", "sweep.")
"""Beginnings of overrides that have no bearing on results, and so none on the ids of sweeps and
cells.
"""

SWEEPER = "hydra_plugins.convrag_sweeper.ConvragSweeper"
"""`_target_` of our own sweeper. Jobs of another one are runs by themselves, in folders that nobody
finds again.
"""


def register_folder_names() -> None:
    """Make `${convrag.unique:}`, `${convrag.sweep:...}` and `${convrag.cell:...}` known to
    OmegaConf.
    """
    OmegaConf.register_new_resolver(
        "convrag.unique", lambda: os.urandom(3).hex(), use_cache=True, replace=True
    )
    OmegaConf.register_new_resolver(
        "convrag.sweep", name_sweep_folder, use_cache=True, replace=True
    )
    OmegaConf.register_new_resolver("convrag.cell", name_cell_folder, replace=True)


def name_sweep_folder(
    sweeper: Mapping[str, Any], overrides: Sequence[str], job: Any, runtime: Any
) -> str:
    """The folder of a sweep: the same for the same grid, and a new one for each study of another
    sweeper.

    Args:
        sweeper: Hydra's node of that name.
        overrides: of the command.
        job: Hydra's node of that name.
        runtime: Hydra's node of that name.
    """
    if sweeper.get("_target_") != SWEEPER:
        return f"{datetime.now():%Y-%m-%d-%H-%M-%S}-{os.urandom(3).hex()}"
    return sweep_id(sweeper.get("params"), overrides, config_sources(job, runtime))


def name_cell_folder(
    sweeper: Mapping[str, Any], overrides: Sequence[str], number: int | None
) -> str:
    """The folder of a cell, or of a job of another sweeper, by its number."""
    return cell_id(overrides) if sweeper.get("_target_") == SWEEPER else str(number)


def config_sources(job: Any, runtime: Any) -> list[str]:
    """Where a configuration comes from, if not from conf/config.yaml alone: --config-dir and
    --config-name.
    """
    given = [source.path for source in runtime.config_sources if source.provider == "command-line"]
    name = job.config_name
    return [os.path.relpath(path.removeprefix("file://")) for path in given] + (
        [name] if name != CONFIG_NAME else []
    )


def params_as_overrides(params: Mapping[str, Any] | None) -> list[str]:
    """What a ready grid (conf/sweep/) brings, as overrides. The overrides of the command line come
    after, and win.
    """
    return [f"{key}={value}" for key, value in (params or {}).items()]


def sweep_id(
    params: Mapping[str, Any] | None, overrides: Iterable[str], sources: Iterable[str] = ()
) -> str:
    """What stands for a grid, and names its folder: equal for the same overrides in any order.

    Args:
        params: what a ready grid brings; a changed one is another grid.
        overrides: of the command line.
        sources: where else its configuration comes from: --config-dir, --config-name.
    """
    return cell_id([*params_as_overrides(params), *overrides, *sources])


def cell_id(overrides: Iterable[str]) -> str:
    """What stands for a cell, and names its folder: a hash of its overrides that bear on results."""
    return digest(
        sorted(each for each in overrides if not each.lstrip("+~").startswith(OPERATIONAL))
    )[:12]
