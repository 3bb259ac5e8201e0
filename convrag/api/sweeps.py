"""A sweep and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a grid. Its id stands for its overrides, and is the name of its folder.

    `name` is what people call it: those of its overrides in which it differs from other cells.
    `state` is "ok", "reused" (finished by an earlier run of the same command), "partial" (some of its turns failed,
    say; the same command runs it again), "failed", "same" (it is the same experiment as the cell whose id is `same_as`,
    and is not run), or empty while it is to come. `error` says why it failed, or what a partial one lacks.
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
    """A grid as its observers see it. `id` stands for the command: the same command again is the same sweep.

    `notes` say which factors made no difference to which cells.
    """

    id: str
    folder: Path
    cells: tuple[Cell, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    notes: tuple[str, ...] = ()
