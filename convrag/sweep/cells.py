"""The cells of a grid: every combination of its factors, a sample of them, and their names."""

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
from convrag.sweep.folders import make_cell_id


class CellsFailed(ConvragError):
    """Cells failed or are partial; the others have run. The command ends with `exit_status`."""

    def __init__(self, message: str, exit_status: int = EXIT_STATUS["failed"]) -> None:
        self.exit_status = exit_status
        super().__init__(message)


def make_cells(overrides: Sequence[str], folder: Path, parser: OverridesParser) -> list[Cell]:
    """Return every combination of the factors once, in the order of Hydra's own sweeper.

    Args:
        overrides: the grid's; of two for one key, the later one counts.
        folder: the grid's.
        parser: knows the configuration, for a factor like `rewriter=glob(*)`.

    Raises:
        ConfigError: a factor has no list of values.
    """
    parsed = parser.parse_overrides(list(overrides))
    factors = {each.get_key_element(): _list_values(each) for each in parsed}
    cells: dict[str, Cell] = {}
    for values in product(*factors.values()):
        combination = tuple(f"{key}={value}" for key, value in zip(factors, values, strict=True))
        identifier = make_cell_id(combination)
        cells.setdefault(identifier, Cell(identifier, combination, folder / identifier))
    return list(cells.values())


def _list_values(override: Override) -> list[str]:
    if not override.is_sweep_override():
        return [override.get_value_element_as_str()]
    if not override.is_discrete_sweep():
        raise ConfigError(
            f"{override.input_line}: a grid needs a list of values; hydra/sweeper=optuna takes "
            "intervals"
        )
    return list(override.sweep_string_iterator())


def draw_cells(cells: Sequence[Cell], number: int, seed: int) -> list[Cell]:
    """Return a number of cells at random, in their own order."""
    ordered = sorted(cells, key=lambda cell: cell.id)
    chosen = {cell.id for cell in random.Random(seed).sample(ordered, min(number, len(ordered)))}
    return [cell for cell in cells if cell.id in chosen]


def order_for_host(cells: Sequence[Cell], host: str) -> list[Cell]:
    """Return cells in an order that differs from host to host, and is always the same on one.

    Hosts that run one grid with a common store then begin at different cells, and later find most
    calls of the other hosts' cells in the store.
    """
    return sorted(cells, key=lambda cell: digest([host, cell.id]))


def name_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with their names: the overrides in which they differ.

    A single cell is called by all of its overrides.
    """
    common: set[str] = set()
    if len(cells) > 1:
        common = set.intersection(*(set(cell.overrides) for cell in cells))
    named = []
    for cell in cells:
        own = [each.lstrip("+") for each in cell.overrides if each not in common]
        named.append(replace(cell, name=" ".join(own)))
    return named
