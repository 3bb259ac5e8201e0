"""The cells of a grid: every combination of its factors, their ids, their names, and a sample of them."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from convrag.api.errors import ConfigError, ConvragError
from convrag.api.records import EXIT_STATUS, Cell
from convrag.store.fingerprint import digest
from convrag.sweep.folders import cell_id


class CellsFailed(ConvragError):
    """Jobs failed that must not end others; of a grid, these are `cells`. The command ends with `exit_status`."""

    exit_status = EXIT_STATUS["failed"]

    def __init__(self, message: str, cells: Sequence[Cell] = ()) -> None:
        self.cells = tuple(cells)
        super().__init__(message)


class CellsPartial(CellsFailed):
    """Some `cells` of a grid are partial, and none failed."""

    exit_status = EXIT_STATUS["partial"]


def make_cells(overrides: Sequence[str], folder: Path, parser: OverridesParser) -> list[Cell]:
    """Every combination of the factors, in the order in which Hydra's own sweeper gives them; each cell once.

    Args:
        overrides: of the grid; of two for one key, the later one counts.
        folder: of the grid.
        parser: knows the configuration, for a factor like `rewriter=glob(*)`.

    Raises:
        ConfigError: a factor has no list of values.
    """
    factors = {each.get_key_element(): _values(each) for each in parser.parse_overrides(list(overrides))}
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
        raise ConfigError(f"{override.input_line}: a grid needs a list of values; hydra/sweeper=optuna takes intervals")
    return list(override.sweep_string_iterator())


def draw_cells(cells: Sequence[Cell], number: int, seed: int) -> list[Cell]:
    """So many cells at random, in their own order."""
    ordered = sorted(cells, key=lambda cell: cell.id)
    chosen = {cell.id for cell in random.Random(seed).sample(ordered, min(number, len(ordered)))}
    return [cell for cell in cells if cell.id in chosen]


def order_for_host(cells: Sequence[Cell], host: str) -> list[Cell]:
    """Put cells into an order of this host's own, which is always the same.

    Hosts that run one grid with a common store then begin at different cells, and find later that most of the calls of
    the others' cells are stored.
    """
    return sorted(cells, key=lambda cell: digest([host, cell.id]))


def name_cells(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with their names: the overrides in which they differ; one that is alone is called by all it has."""
    common = set.intersection(*(set(cell.overrides) for cell in cells)) if len(cells) > 1 else set()
    return [
        replace(cell, name=" ".join(each.lstrip("+") for each in cell.overrides if each not in common))
        for cell in cells
    ]
