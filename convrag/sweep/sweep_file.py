"""The files of a grid's folder: `sweep.json` lists its cells, and `cell.json` in each cell's own
folder says how it ended.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

from convrag.api.errors import DataError
from convrag.api.records import Cell, Sweep
from convrag.store.files import write_atomically
from convrag.store.json_text import parse_json

SWEEP_FILE = "sweep.json"
CELL_FILE = "cell.json"
METRICS_FILE = "metrics.json"


class DamagedSweep(DataError):
    """The sweep.json of a grid is damaged."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            "this is no list of the cells of a grid; start the grid again, which writes it",
            path=path,
        )


def write_sweep(sweep: Sweep, started: float) -> None:
    """List the cells for the processes that run them, and at the end with how they ended.

    Args:
        sweep: its folder is there.
        started: when this try began, in seconds since 1970; cells note it in their own files.
    """
    row = {
        "id": sweep.id,
        "started": started,
        "process": this_process(),
        "cells": [_make_row(cell) for cell in sweep.cells],
        "notes": list(sweep.notes),
    }
    write_json(sweep.folder / SWEEP_FILE, row)


def _make_row(cell: Cell) -> dict[str, Any]:
    row: dict[str, Any] = {"id": cell.id, "name": cell.name, "overrides": list(cell.overrides)}
    if cell.same_as:
        row["same_as"] = cell.same_as
    if cell.state:
        row |= {"state": cell.state, "error": cell.error}
    return row


def read_sweep(folder: Path) -> dict[str, Any]:
    """Return the contents of `sweep.json` in a grid's folder; empty where there is none.

    Raises DamagedSweep where it does not list cells.
    """
    path = folder / SWEEP_FILE
    if not path.exists():
        return {}
    row = read_json(path)
    cells = row.get("cells")
    if not isinstance(cells, list) or not all(
        isinstance(cell, dict) and "id" in cell for cell in cells
    ):
        raise DamagedSweep(path)
    return row


def find_sweep_id(folder: Path) -> str:
    """Return the id of the grid of which this folder is a cell; empty for a run by itself."""
    return str(read_sweep(folder.parent).get("id", "")) if _find_cell(folder) else ""


def find_cell_name(folder: Path) -> str:
    """Return the name of the cell in this folder, the overrides in which it differs from others.

    Empty for a run by itself.
    """
    return str(_find_cell(folder).get("name", ""))


def _find_cell(folder: Path) -> dict[str, Any]:
    cells = read_sweep(folder.parent).get("cells", [])
    return next((cell for cell in cells if cell["id"] == folder.name), {})


def read_ending(cell: Cell, started: float) -> Cell:
    """Return a cell with its ending in the try that began then; unchanged where it was not run."""
    ending = read_json(cell.folder / CELL_FILE)
    if cell.same_as or ending.get("try") != started or not ending.get("state"):
        return cell
    return replace(cell, state=str(ending["state"]), error=str(ending.get("error", "")))


def read_scores(folder: Path, measures: Sequence[str] = ()) -> dict[str, float]:
    """Return measures of the run in a folder, over all its turns; NaN for those it lacks.

    Args:
        folder: the run's.
        measures: their names; with none, the main measure of each of the run's metrics.
    """
    main = read_json(folder / METRICS_FILE).get("main_measures")
    names = measures or (main if isinstance(main, list) else [])
    every = read_all_scores(folder)
    return {name: every.get(name, nan) for name in names if isinstance(name, str)}


def read_all_scores(folder: Path) -> dict[str, float]:
    """Return every measure of the run in a folder, over all its turns.

    Empty where there is none, or the file is damaged.
    """
    overall = read_json(folder / METRICS_FILE).get("overall")
    values = overall.items() if isinstance(overall, dict) else ()
    return {name: float(value) for name, value in values if isinstance(value, int | float)}


def read_metric(folder: Path, measures: Sequence[str] = ()) -> float:
    """Return the first of these measures of the run in a folder; NaN where there is none."""
    scores = list(read_scores(folder, measures).values())
    return scores[0] if scores else nan


def this_process() -> dict[str, Any]:
    """Return the `pid` and the `host` of this process, which no other process has."""
    return {"pid": os.getpid(), "host": platform.node()}


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; empty where the file is missing or damaged."""
    try:
        row = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) else {}


def write_json(path: Path, row: dict[str, Any]) -> None:
    """Write an object into a file, which appears whole."""
    write_atomically(path, json.dumps(row, indent=2))
