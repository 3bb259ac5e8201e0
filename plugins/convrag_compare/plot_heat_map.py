"""Heat maps: one measure over two factors, with everything else equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag_compare.heat_map_cells import HeatCell, choose_axes, list_moving_factors, make_heat_map
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.plot_style import explain_mark, join_title, shorten
from convrag_compare.tables import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

_PALEST, _DARKEST = 0.05, 0.85  # of the colour map: white stands for a missing value


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
