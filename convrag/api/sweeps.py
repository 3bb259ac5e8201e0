"""A sweep and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a grid.

    Args:
        id: stands for its overrides, and is the name of its folder.
        overrides: as they were typed ("rewriter=mmr", "top_k=20").
        folder: of its run.
        state: "ok", "reused" (finished by an earlier run of the same command), "partial" (some of its turns failed;
            the same command runs it again), "failed", "same" (it is the same experiment as the cell whose id is
            `same_as`, and is not run), or empty while it is to come.
        error: why it failed, or what a partial one lacks.
        name: what people call it: those of its overrides in which it differs from other cells.
        same_as: the id of the cell that is the same experiment.

    Example:
        >>> Cell("3f9a", ("rewriter=mmr", "top_k=20"), Path("outputs/sweeps/1/3f9a"), "ok", name="rewriter=mmr").state
        'ok'
    """

    id: str
    overrides: tuple[str, ...]
    folder: Path
    state: str = ""
    error: str = ""
    name: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A grid as its observers see it.

    Args:
        id: stands for the command: the same command again is the same sweep.
        folder: of the grid.
        cells: in the order in which they are run.
        config: what all cells have in common, as plain data.
        interrupted: whether the end came before the last cell.
        notes: which factors made no difference to which cells.

    Example:
        >>> cell = Cell("3f9a", ("top_k=20",), Path("outputs/sweeps/1/3f9a"))
        >>> sweep = Sweep("77ab", Path("outputs/sweeps/1"), (cell,))
        >>> [cell.state for cell in sweep.cells]
        ['']
    """

    id: str
    folder: Path
    cells: tuple[Cell, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    notes: tuple[str, ...] = ()
