"""A grid read from its folder: cells with their scores, as a table for pandas and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag.api.errors import DataError, MissingExtra
from convrag.api.printable import Html, format_table, format_text
from convrag.config.command import read_place
from convrag.sweep.leaderboard_html import format_leaderboard
from convrag.sweep.sweep_file import CELL_FILE, read_all_scores, read_json, read_sweep

if TYPE_CHECKING:
    import pandas as pd


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
        rows = []
        for cell in self.cells:
            own = {"cell": cell.id, "name": cell.name, "state": cell.state, "same_as": cell.same_as}
            rows.append({**own, **cell.choices, **cell.scores})
        choices = dict.fromkeys(place for cell in self.cells for place in cell.choices)
        columns = ["cell", "name", "state", "same_as", *choices, *self._list_measures()]
        return pd.DataFrame(rows, columns=columns)

    def _list_measures(self) -> list[str]:
        return list(dict.fromkeys(measure for cell in self.cells for measure in cell.scores))

    def _repr_html_(self) -> str:
        """Show the leaderboard in a notebook, and the cells below it."""
        about = format_text(f"{self.folder.name}: {len(self.cells)} cells")
        board = format_leaderboard(self.folder)
        cells = self._format_cells()
        if board:
            cells = Html(f"<details><summary>All measures of all cells</summary>{cells}</details>")
        return f"<div><p>{about}</p>{board}{cells}</div>"

    def _format_cells(self) -> Html:
        """Format a table of the cells, in their own order, without those that repeat another."""
        measures = self._list_measures()
        rows = []
        for cell in self.cells:
            if not cell.same_as:
                scores = {name: f"{value:.4f}" for name, value in cell.scores.items()}
                shown = [scores.get(name, "") for name in measures]
                rows.append((cell.name, cell.state, *shown))
        return format_table(("Cell", "State", *measures), rows)


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
    choices = {}
    for override in overrides if isinstance(overrides, list) else []:
        if isinstance(override, str):
            choices[read_place(override)] = override.partition("=")[2]
    return CellResult(
        id=str(cell["id"]),
        name=str(cell.get("name", "")),
        choices=choices,
        scores=read_all_scores(own),
        state=str(cell.get("state") or ending.get("state") or ""),
        same_as=str(cell.get("same_as", "")),
        error=str(cell.get("error") or ending.get("error") or ""),
    )
