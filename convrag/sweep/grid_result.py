"""A grid, read from its folder: its cells with their scores, as a table for pandas and for notebooks."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag.api.errors import DataError, MissingExtra
from convrag.api.printable import format_bold, format_details, format_table, format_text
from convrag.config.choices import place_of
from convrag.sweep.sweep_file import CELL_FILE, read_all_scores, read_json, read_sweep

if TYPE_CHECKING:
    import pandas as pd


LEADERBOARD_FILE = "leaderboard.csv"
_SHOWN = ("name", "state", "same_as")
_SIGNIFICANT = 0.05
_NOTE = (
    "Best first; the best score is bold. In brackets: 95 % interval. Difference: to the baseline, bold where its p, "
    "corrected by Holm's method, is below 0.05."
)

Row = Mapping[str, str]


@dataclass(frozen=True)
class CellResult:
    """A cell of a grid.

    `choices` are its overrides (place -> value: "rewriter" -> "mmr"), `scores` its measures over all turns. A cell that
    is the same experiment as another, `same_as`, has the scores of that one. `state` is a
    `Cell`'s (convrag.sdk.types).
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
        """Return a row for each cell: its id, name and state, a column for each choice and for each measure.

        A measure that a cell lacks is NaN, a choice None. Raises MissingExtra where pandas is not installed.
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
        about = format_text(f"{self.folder.name}: {len(self.cells)} cells")
        cells = self._format_cells()
        if rows := read_leaderboard(self.folder):
            return f"<div><p>{about}</p>{format_leaderboard(rows)}{format_details('All measures', cells)}</div>"
        return f"<div><p>{about}</p>{cells}</div>"

    def _format_cells(self) -> str:
        measures = self._list_measures()
        rows = [
            (cell.name, cell.state, *(f"{cell.scores[each]:.4f}" if each in cell.scores else "" for each in measures))
            for cell in self.cells
            if not cell.same_as
        ]
        return format_table(("Cell", "State", *measures), rows, names=2)


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
        cell.id: replace(cell, scores=cells[cell.same_as].scores) for cell in cells.values() if cell.same_as in cells
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


def read_leaderboard(folder: Path) -> list[Row]:
    """Read the rows of a grid's leaderboard.csv, best first; none where it is not there yet, or is damaged."""
    try:
        with (folder / LEADERBOARD_FILE).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    whole = all(None not in row and None not in row.values() for row in rows)
    return list(rows) if whole and rows and "state" in rows[0] else []


def format_leaderboard(rows: Sequence[Row]) -> str:
    """Format the leaderboard: the factors, then score, difference and p of each compared measure."""
    columns = list(rows[0])
    factors = columns[: columns.index("state")]
    measures = [name for name in columns if f"{name}_p_holm" in columns]
    best = {measure: max(map(_to_number, (row[measure] for row in rows))) for measure in measures}
    head = [*factors, *(part for measure in measures for part in (measure, "Difference", "p (Holm)"))]
    body = []
    for row in rows:
        scores = (cell for each in measures for cell in _format_score(row, each, best[each]))
        body.append([*(row[each] for each in factors), *scores])
    return f"{format_table(head, body, names=len(factors))}<small>{format_text(_NOTE)}</small>"


def _format_score(row: Row, measure: str, best: float) -> tuple[str, str, str]:
    """Score with interval, difference to the baseline, and p; what the leaderboard lacks is left out."""
    score = _format(row[measure], ".3f")
    low, high = (_format(row.get(f"{measure}_{end}", ""), ".3f") for end in ("low", "high"))
    shown = f"{score} [{low}, {high}]" if low and high else score
    difference = _format(row.get(f"{measure}_difference", ""), "+.3f")
    p = row[f"{measure}_p_holm"]
    significant = 0 <= _to_number(p) < _SIGNIFICANT
    return (
        format_bold(shown) if score and _to_number(row[measure]) == best else shown,
        format_bold(difference) if significant else difference,
        _format(p, ".4f"),
    )


def _format(text: str, spec: str) -> str:
    return text if _to_number(text) == -inf else format(float(text), spec)


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -inf
