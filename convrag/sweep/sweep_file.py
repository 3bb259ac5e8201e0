"""The folder of a grid: `sweep.json` lists its cells, and `cell.json` in each cell's own folder
says how it ended.

`read_grid` reads a grid from there: its cells with their scores, as a table for pandas and for
notebooks.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag.api.errors import DataError, MissingExtra
from convrag.api.printable import format_table, format_text
from convrag.api.records import Cell, Sweep
from convrag.config.choices import place_of
from convrag.store.files import write_atomically
from convrag.store.json_text import parse_json

if TYPE_CHECKING:
    import pandas as pd


SWEEP_FILE, CELL_FILE, METRICS_FILE = "sweep.json", "cell.json", "metrics.json"


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
    cells = [
        {"id": cell.id, "name": cell.name, "overrides": list(cell.overrides)}
        | ({"same_as": cell.same_as} if cell.same_as else {})
        | ({"state": cell.state, "error": cell.error} if cell.state else {})
        for cell in sweep.cells
    ]
    row = {
        "id": sweep.id,
        "started": started,
        "process": this_process(),
        "cells": cells,
        "notes": list(sweep.notes),
    }
    write_json(sweep.folder / SWEEP_FILE, row)


def read_sweep(folder: Path) -> dict[str, Any]:
    """What `sweep.json` in a grid's folder says; empty where there is none. Raises DataError where
    it is damaged.
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
    """The id of the grid that the run in this folder is a cell of; empty for a run by itself."""
    return str(read_sweep(folder.parent).get("id", "")) if _find_cell(folder) else ""


def find_cell_name(folder: Path) -> str:
    """What people call the cell in this folder: the overrides in which it differs from others; of
    other runs, empty.
    """
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
    """Measures of the run in a folder, over all its turns; NaN for those that it was not measured
    by.

    Args:
        folder: of a run.
        measures: their names; with none, those that stand for the metrics of the run.
    """
    main = read_json(folder / METRICS_FILE).get("main_measures")
    names = measures or (main if isinstance(main, list) else [])
    every = read_all_scores(folder)
    return {name: every.get(name, nan) for name in names if isinstance(name, str)}


def read_all_scores(folder: Path) -> dict[str, float]:
    """Every measure of the run in a folder, over all its turns; empty where there is none, or the
    file is damaged.
    """
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


_SHOWN = ("name", "state", "same_as")


@dataclass(frozen=True)
class CellResult:
    """A cell of a grid.

    `choices` are its overrides (place -> value: "rewriter" -> "mmr"), `scores` its measures over
    all turns. A cell that is the same experiment as another, `same_as`, has the scores of that one.
    `state` is a `Cell`'s (convrag.sdk.types).
    """

    id: str
    name: str
    choices: Mapping[str, str]
    scores: Mapping[str, float]
    state: str = ""
    same_as: str = ""
    error: str = ""


@dataclass(frozen=True)
class GridResult:
    """The cells of a grid, in the order in which they were planned."""

    folder: Path
    id: str
    cells: tuple[CellResult, ...]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each cell: its id, name and state, a column for each choice and for each
        measure.

        A measure that a cell lacks is NaN, a choice None. Raises MissingExtra where pandas is not
        installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("pandas", "pandas", "to_dataframe") from error
        rows = [
            {
                "cell": cell.id,
                "name": cell.name,
                "state": cell.state,
                "same_as": cell.same_as,
                **cell.choices,
                **cell.scores,
            }
            for cell in self.cells
        ]
        choices = dict.fromkeys(place for cell in self.cells for place in cell.choices)
        columns = ["cell", *_SHOWN, *choices, *self._list_measures()]
        return pd.DataFrame(rows, columns=columns)

    def _list_measures(self) -> list[str]:
        return list(dict.fromkeys(measure for cell in self.cells for measure in cell.scores))

    def _repr_html_(self) -> str:
        measures = self._list_measures()
        rows = [
            (
                cell.name,
                cell.state,
                *(f"{cell.scores[each]:.4f}" if each in cell.scores else "" for each in measures),
            )
            for cell in self.cells
            if not cell.same_as
        ]
        about = format_text(f"{self.folder.name}: {len(self.cells)} cells")
        return f"<div><p>{about}</p>{format_table(('Cell', 'State', *measures), rows)}</div>"


def read_grid(folder: Path | str) -> GridResult:
    """Read a grid from its folder, finished or not.

        convrag.read_grid("outputs/sweeps/...").to_dataframe().sort_values("nDCG@5")

    Raises:
        DataError: there is no sweep.json, or it is damaged.
    """
    path = Path(folder)
    row = read_sweep(path)
    if not row:
        raise DataError("this is no folder of a grid: it has no sweep.json", path=path)
    cells = {str(cell["id"]): _read_cell(path, cell) for cell in row["cells"]}
    same = {
        cell.id: replace(cell, scores=cells[cell.same_as].scores)
        for cell in cells.values()
        if cell.same_as in cells
    }
    return GridResult(path, str(row.get("id", "")), tuple((cells | same).values()))


def _read_cell(folder: Path, cell: Mapping[str, Any]) -> CellResult:
    own = folder / str(cell["id"])
    ending = read_json(own / CELL_FILE)
    overrides = cell.get("overrides")
    return CellResult(
        id=str(cell["id"]),
        name=str(cell.get("name", "")),
        choices={
            place_of(override): override.partition("=")[2]
            for override in (overrides if isinstance(overrides, list) else [])
            if isinstance(override, str)
        },
        scores=read_all_scores(own),
        state=str(cell.get("state") or ending.get("state") or ""),
        same_as=str(cell.get("same_as", "")),
        error=str(cell.get("error") or ending.get("error") or ""),
    )
