"""Heat maps: one measure over two factors, with everything else equal, and levels that are equal once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from convrag_compare.factors import get_level, get_levels
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.plot_style import explain_mark, join_names, join_title, mark_partial, shorten, shorten_all
from convrag_compare.tables import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

_PREFERRED = ("rewriter", "ranker")
_PALEST, _DARKEST = 0.05, 0.85  # of the colour map: white stands for a missing value


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map.

    Args:
        value: of the measure; None where no run has one.
        mark: an asterisk if the run is partial.
        best: whether its value, as it is printed, is the highest of this heat map.
    """

    value: float | None
    mark: str = ""
    best: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A heat map: the labels of its rows and columns, and the cells of each row.

    Levels with the same values are one row, or one column: `none = last_n`.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[HeatCell]]


def list_moving_factors(board: Leaderboard, measure: str) -> list[str]:
    """The factors that move a measure; all where none does. One in which no two runs differ alone counts, too."""
    moving = [name for name in board.factors if measure not in board.movements[name].unmoved]
    return moving or list(board.factors)


def choose_axes(board: Leaderboard, measure: str) -> tuple[str, str]:
    """The factors of the rows and of the columns: rewriter and ranker, else the two with the most levels.

    Only factors that move the measure count. The second is empty where there is but one.
    """
    moving = list_moving_factors(board, measure)
    if all(name in moving for name in _PREFERRED):
        return _PREFERRED
    widest = sorted(moving, key=lambda name: -len(board.factors[name]))[:2]
    down, *across = sorted(widest, key=moving.index)
    return down, across[0] if across else ""


def list_combinations(board: Leaderboard, measure: str) -> list[dict[str, str]]:
    """The combinations of levels of all other factors that move the measure, in the order of the grid.

    Each has a heat map of its own.
    """
    axes = choose_axes(board, measure)
    others = [name for name in list_moving_factors(board, measure) if name not in axes]
    found = {get_levels(row.result, others) for row in board.rows}
    ordered = sorted(found, key=lambda each: [board.factors[f].index(v) for f, v in zip(others, each, strict=True)])
    return [dict(zip(others, each, strict=True)) for each in ordered]


def make_heat_map(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> HeatMap:
    """The heat map of a measure for one combination of the other factors."""
    down, across = choose_axes(board, measure)
    rows, columns = board.factors[down], board.factors.get(across, [""])
    scored = [row.result for row in board.rows if measure in row.result.overall]
    cells: list[list[HeatCell]] = []
    for name in rows:
        cells.append([])
        for other in columns:
            wanted = {down: name, **({across: other} if across else {}), **combination}
            found = [o for o in scored if all(get_level(o, f) == v for f, v in wanted.items())]
            value = fmean(o.overall[measure] for o in found) if found else None
            cells[-1].append(HeatCell(value, mark_partial(found)))
    row_labels, cells = _join_equal([shorten_all(rows)[name] for name in rows], cells)
    turned = [list(column) for column in zip(*cells, strict=True)]
    column_labels, turned = _join_equal([shorten_all(columns)[name] for name in columns], turned)
    cells = [list(row) for row in zip(*turned, strict=True)]
    return HeatMap(row_labels, column_labels, _mark_best(cells))


def _join_equal(labels: Sequence[str], lines: Sequence[list[HeatCell]]) -> tuple[list[str], list[list[HeatCell]]]:
    """Rows (or columns) with their labels; rows with the same values are joined, and so are their labels."""
    groups: dict[tuple[tuple[float | None, str], ...], list[int]] = {}
    for index, cells in enumerate(lines):
        # runs of equal turns may differ in the last digits of their means
        key = tuple((None if cell.value is None else round(cell.value, 12), cell.mark) for cell in cells)
        empty = all(cell.value is None for cell in cells)
        groups.setdefault((*key, (float(index), "empty")) if empty else key, []).append(index)
    joined = [join_names([labels[index] for index in same]) for same in groups.values()]
    return joined, [list(lines[same[0]]) for same in groups.values()]


def _mark_best(cells: Sequence[Sequence[HeatCell]]) -> list[list[HeatCell]]:
    values = [cell.value for row in cells for cell in row if cell.value is not None]
    best = format_number(max(values)) if values else ""
    return [
        [HeatCell(c.value, c.mark, c.value is not None and format_number(c.value) == best) for c in row]
        for row in cells
    ]


def draw_heat_map(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> Figure:
    """Draw the heat map of a measure for one combination of the other factors.

    All heat maps of a measure have the same scale of colours, which the colour bar shows. The best value is framed, and
    so is each that is printed alike; a missing one is hatched, one of a partial run has an asterisk.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    shown = make_heat_map(board, measure, combination)
    scored = [row.result for row in board.rows if measure in row.result.overall]
    means = [result.overall[measure] for result in scored]
    columns = [label.replace(" = ", "\n= ") for label in shown.columns]
    longest = max(len(line) for label in columns for line in label.split("\n"))
    turned = longest > 13
    wide = 2.4 + 0.085 * max(map(len, shown.rows)) + 1.15 * len(columns)
    high = 1.5 + 0.5 * len(shown.rows) + 0.06 * longest * turned
    figure = Figure(figsize=(max(4.6, wide), max(2.6, high)))
    axes = figure.add_subplot()
    colors = _make_colors()
    scale = Normalize(min(means, default=0.0), max(means, default=1.0))
    for y, row in enumerate(shown.cells):
        for x, cell in enumerate(row):
            _draw_cell(axes, x, y, cell, colors(0.0 if cell.value is None else float(scale(cell.value))))
    for x, y in ((x, y) for y, row in enumerate(shown.cells) for x, cell in enumerate(row) if cell.best):
        _draw_frame(axes, x, y)
    _label_axes(axes, shown.rows, columns, turned)
    down, across = choose_axes(board, measure)
    axes.set_ylabel(down)
    axes.set_xlabel(across)
    if scale.vmin != scale.vmax:
        bar = figure.colorbar(ScalarMappable(scale, colors), ax=axes, label=measure, pad=0.03, aspect=24)
        bar.outline.set_visible(False)
    fixed = [f"{key} = {shorten(value)}" for key, value in combination.items()]
    moving = list_moving_factors(board, measure)
    fixed += [f"any {name}" for name in board.factors if name not in moving]
    axes.set_title(join_title([measure, *fixed, *explain_mark(scored)]))
    return figure


def _make_colors() -> Colormap:
    """Blues from pale to dark: in black and white they are greys in the same order."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap([colormaps["Blues"](_PALEST + (_DARKEST - _PALEST) * step / 255) for step in range(256)])


def _draw_cell(axes: Axes, x: int, y: int, cell: HeatCell, color: tuple[float, ...]) -> None:
    from matplotlib.patches import Rectangle

    missing = cell.value is None
    fill: dict[str, Any] = {"facecolor": "white", "hatch": "////"} if missing else {"facecolor": color}
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, edgecolor="0.75" if missing else "white", linewidth=1, **fill))
    if cell.value is None:
        background = {"facecolor": "white", "edgecolor": "none", "pad": 2}
        axes.text(x, y, "no score", ha="center", va="center", fontsize=9, bbox=background)
    else:
        red, green, blue = color[:3]
        ink = "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else "black"  # the one with more contrast
        text = f"{format_number(cell.value)}{cell.mark}"
        axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=11)


def _draw_frame(axes: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    frame: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 2, "zorder": 3, "gid": "best"}
    axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, **frame))


def _label_axes(axes: Axes, rows: Sequence[str], columns: Sequence[str], turned: bool) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns)
    if turned:
        for tick in axes.get_xticklabels():
            tick.set(rotation=30, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
