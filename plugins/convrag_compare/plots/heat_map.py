"""Heat maps: one measure over two factors, with everything else equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.sdk.output.plots import make_figure
from convrag_compare.factors import get_level, get_levels
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plots.run_labels import mark_partial, set_frame
from convrag_compare.tables import format_number, shorten, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_DARK = 0.6
"""The share of the colour scale above which text is white."""

_LONG_LABEL = 13
"""Characters above which the labels of columns are turned."""


def choose_axes(board: Leaderboard, measure: str) -> tuple[str, str]:
    """Choose the factors of the rows and of the columns; the second is empty if there is only one.

    They are rewriter and ranker, else the two factors with the most levels. Only factors that move
    the measure are considered.
    """
    moving = _list_moving_factors(board, measure)
    if "rewriter" in moving and "ranker" in moving:
        return "rewriter", "ranker"
    widest = sorted(moving, key=lambda name: -len(board.factors[name]))[:2]
    widest.sort(key=moving.index)
    if len(widest) == 1:
        return widest[0], ""
    return widest[0], widest[1]


def list_combinations(board: Leaderboard, measure: str) -> list[dict[str, str]]:
    """List the combinations of the other moving factors' levels; each has its own heat map."""
    axes = choose_axes(board, measure)
    others = [name for name in _list_moving_factors(board, measure) if name not in axes]
    present = {get_levels(row.result, others) for row in board.rows}
    possible = product(*(board.factors[name] for name in others))
    return [dict(zip(others, levels, strict=True)) for levels in possible if levels in present]


def _list_moving_factors(board: Leaderboard, measure: str) -> list[str]:
    """List the factors that move a measure; all of them if none does.

    A factor in which no two runs differ alone counts as moving.
    """
    moving = [name for name in board.factors if measure not in board.effects[name].unmoved]
    return moving or list(board.factors)


def draw_heat_map(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> Figure:
    """Draw the heat map of a measure for one combination of the other factors.

    All heat maps of a measure share one colour scale. The best value, and any that is printed like
    it, is bold; the value of a partial run has an asterisk.
    """
    down, across = choose_axes(board, measure)
    rows = board.factors[down]
    columns = board.factors.get(across, [""])
    scored = [row for row in board.rows if measure in row.result.overall]
    means = [row.result.overall[measure] for row in scored]
    cells = _group_cells(scored, down, across, combination)

    row_labels = list(shorten_all(rows).values())
    column_labels = list(shorten_all(columns).values())
    width = 2.4 + 0.085 * max(map(len, row_labels)) + 1.15 * len(columns)
    figure = make_figure(width, 2.0 + 0.5 * len(rows))
    axes = figure.add_subplot()
    values = np.full((len(rows), len(columns)), np.nan)
    marks: dict[tuple[int, int], str] = {}
    for y, row_level in enumerate(rows):
        for x, column_level in enumerate(columns):
            found = cells.get((row_level, column_level), [])
            if found:
                values[y, x] = fmean(row.result.overall[measure] for row in found)
            marks[y, x] = mark_partial(found)
    lowest = min(means, default=0)
    highest = max(means, default=1)
    image = axes.imshow(values, cmap="Blues", vmin=lowest, vmax=highest, aspect="auto")
    _write_values(axes, image, values, marks)

    if max(map(len, column_labels)) > _LONG_LABEL:
        axes.set_xticks(range(len(columns)), column_labels, rotation=30, ha="right")
    else:
        axes.set_xticks(range(len(columns)), column_labels)
    axes.set_yticks(range(len(rows)), row_labels)
    axes.tick_params(length=0)
    if len(set(means)) > 1:
        figure.colorbar(image, ax=axes, label=measure)
    set_frame(axes, across, down, _make_title(board, measure, combination), scored)
    return figure


def _group_cells(
    rows: Sequence[Row], down: str, across: str, combination: Mapping[str, str]
) -> dict[tuple[str, str], list[Row]]:
    """Group the runs of a combination by their levels in the two factors of a heat map."""
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if all(get_level(row.result, name) == level for name, level in combination.items()):
            column = get_level(row.result, across) if across else ""
            cells.setdefault((get_level(row.result, down), column), []).append(row)
    return cells


def _write_values(
    axes: Axes, image: Any, values: NDArray[np.float64], marks: Mapping[tuple[int, int], str]
) -> None:
    """Write the value of each cell into it, in a colour that can be read on the cell's own."""
    best = "" if np.isnan(values).all() else format_number(np.nanmax(values))
    for (y, x), mark in marks.items():
        text = format_number(values[y, x])
        is_dark = text != "" and image.norm(values[y, x]) > _DARK
        is_best = text != "" and text == best
        axes.text(
            x,
            y,
            f"{text}{mark}" or "no score",
            ha="center",
            va="center",
            color="white" if is_dark else "black",
            weight="bold" if is_best else "normal",
        )


def _make_title(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> list[str]:
    """Name the measure, the fixed factors, and those that do not move the measure."""
    fixed = [f"{name} = {shorten(level)}" for name, level in combination.items()]
    moving = _list_moving_factors(board, measure)
    free = [f"any {name}" for name in board.factors if name not in moving]
    return [measure, *fixed, *free]
