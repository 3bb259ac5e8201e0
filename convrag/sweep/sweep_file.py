"""The folder of a grid: `sweep.json` lists its cells, and `cell.json` in each cell's own folder says how it ended."""

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

SWEEP_FILE, CELL_FILE, METRICS_FILE = "sweep.json", "cell.json", "metrics.json"


class DamagedSweep(DataError):
    """The sweep.json of a grid is damaged."""

    def __init__(self, path: Path) -> None:
        super().__init__("this is no list of the cells of a grid; start the grid again, which writes it", path=path)


def write_sweep(sweep: Sweep, started: float) -> None:
    """List the cells for the processes that run them, and at the end with how they ended.

    Args:
        sweep: its folder is there.
        started: when this try began, in seconds since 1970; cells note it in their own files.
    """
    cells = [
        {"id": cell.id, "name": cell.name, "overrides": list(cell.overrides)}
        | ({"same_as": cell.same_as} if cell.same_as else {})
        | ({"state": cell.state, "error": cell.error} if cell.state else {})
        for cell in sweep.cells
    ]
    row = {"id": sweep.id, "started": started, "process": this_process(), "cells": cells, "notes": list(sweep.notes)}
    write_json(sweep.folder / SWEEP_FILE, row)


def read_sweep(folder: Path) -> dict[str, Any]:
    """What `sweep.json` in a grid's folder says; empty where there is none. Raises DataError where it is damaged."""
    path = folder / SWEEP_FILE
    if not path.exists():
        return {}
    row = read_json(path)
    cells = row.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) and "id" in cell for cell in cells):
        raise DamagedSweep(path)
    return row


def find_sweep_id(folder: Path) -> str:
    """The id of the grid that the run in this folder is a cell of; empty for a run by itself."""
    return str(read_sweep(folder.parent).get("id", "")) if _find_cell(folder) else ""


def find_cell_name(folder: Path) -> str:
    """What people call the cell in this folder: the overrides in which it differs from others; of other runs, empty."""
    return str(_find_cell(folder).get("name", ""))


def _find_cell(folder: Path) -> dict[str, Any]:
    cells = read_sweep(folder.parent).get("cells", [])
    return next((cell for cell in cells if cell["id"] == folder.name), {})


def read_ending(cell: Cell, started: float) -> Cell:
    """A cell with how it ended in the try that began then; unchanged where its turn did not come."""
    ending = read_json(cell.folder / CELL_FILE)
    if cell.same_as or ending.get("try") != started or not ending.get("state"):
        return cell
    return replace(cell, state=str(ending["state"]), error=str(ending.get("error", "")))


def read_scores(folder: Path, measures: Sequence[str] = ()) -> dict[str, float]:
    """Measures of the run in a folder, over all its turns; NaN for those that it was not measured by.

    Args:
        folder: of a run.
        measures: their names; with none, those that stand for the metrics of the run.
    """
    main = read_json(folder / METRICS_FILE).get("main_measures")
    names = measures or (main if isinstance(main, list) else [])
    every = read_all_scores(folder)
    return {name: every.get(name, nan) for name in names if isinstance(name, str)}


def read_all_scores(folder: Path) -> dict[str, float]:
    """Every measure of the run in a folder, over all its turns; empty where there is none, or the file is damaged."""
    overall = read_json(folder / METRICS_FILE).get("overall")
    values = overall.items() if isinstance(overall, dict) else ()
    return {name: float(value) for name, value in values if isinstance(value, int | float)}


def read_metric(folder: Path, measures: Sequence[str] = ()) -> float:
    """The first of these measures of the run in a folder; NaN where there is none."""
    return next(iter(read_scores(folder, measures).values()), nan)


def this_process() -> dict[str, Any]:
    """What tells this process from all others: `pid` and `host`."""
    return {"pid": os.getpid(), "host": platform.node()}


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; empty where the file is missing or damaged."""
    try:
        row = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) else {}


def write_json(path: Path, row: dict[str, Any]) -> None:
    """Write an object into a file, which appears whole."""
    write_atomically(path, json.dumps(row, indent=2))
