"""Heat maps: one measure over two factors, with everything else equal."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

from convrag_compare.factors import get_level, get_levels
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.plot_style import explain_mark, join_title, mark_partial, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PREFERRED = ("rewriter", "ranker")


def choose_axes(board: Leaderboard) -> tuple[str, str]:
    """The factors of the rows and of the columns: rewriter and ranker, else the two with the most levels.

    The second is empty where only one factor was varied.
    """
    if all(name in board.factors for name in _PREFERRED):
        return _PREFERRED
    widest = sorted(board.factors, key=lambda name: -len(board.factors[name]))[:2]
    down, *across = sorted(widest, key=list(board.factors).index)
    return down, across[0] if across else ""


def list_combinations(board: Leaderboard) -> list[dict[str, str]]:
    """The combinations of levels of all other factors, in the order of the grid; each has a heat map of its own."""
    others = [name for name in board.factors if name not in choose_axes(board)]
    found = {get_levels(row.result, others) for row in board.rows}
    ordered = sorted(found, key=lambda each: [board.factors[f].index(v) for f, v in zip(others, each, strict=True)])
    return [dict(zip(others, each, strict=True)) for each in ordered]


def draw_heat_map(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> Figure:
    """Draw the heat map of a measure for one combination of the other factors.

    All heat maps of a measure have the same scale of shades. The best value is framed, a missing one is hatched, one of
    a partial run has an asterisk.
    """
    from matplotlib.figure import Figure

    down, across = choose_axes(board)
    rows, columns = board.factors[down], board.factors.get(across, [""])
    scored = [row.result for row in board.rows if measure in row.result.overall]
    values_of_all = [result.overall[measure] for result in scored]
    longest = max(len(shorten(name)) for name in columns)
    turned = longest > 11
    size = (1.6 + 0.085 * max(len(shorten(name)) for name in rows) + 1.15 * len(columns), 1.5 + 0.62 * len(rows))
    figure = Figure(figsize=(max(4.2, size[0]), max(2.4, size[1]) + 0.06 * longest * turned))
    axes = figure.add_subplot()
    lowest, highest = min(values_of_all, default=0.0), max(values_of_all, default=1.0)
    best: tuple[float, int, int] | None = None
    for y, name in enumerate(rows):
        for x, other in enumerate(columns):
            wanted = {down: name, **({across: other} if across else {}), **combination}
            found = [o for o in scored if all(get_level(o, f) == v for f, v in wanted.items())]
            value = fmean(o.overall[measure] for o in found) if found else None
            share = (value - lowest) / (highest - lowest) if value and highest > lowest else 0.0
            _draw_cell(axes, x, y, value, share, mark_partial(found))
            if value is not None and (best is None or value > best[0]):
                best = (value, x, y)
    if best:
        _draw_frame(axes, best[1], best[2])
    _label_axes(axes, rows, columns, turned)
    axes.set_ylabel(down)
    axes.set_xlabel(across)
    parts = [measure, *(f"{key} = {shorten(value)}" for key, value in combination.items())]
    axes.set_title(join_title([*parts, *explain_mark(scored)]))
    return figure


def _draw_cell(axes: Axes, x: int, y: int, value: float | None, share: float, mark: str) -> None:
    from matplotlib.patches import Rectangle

    shade = 1 - 0.8 * share
    fill: dict[str, Any] = {"facecolor": str(shade)} if value is not None else {"facecolor": "white", "hatch": "////"}
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, edgecolor="0.45", linewidth=0.8, **fill))
    if value is None:
        background = {"facecolor": "white", "edgecolor": "none", "pad": 2}
        axes.text(x, y, "no score", ha="center", va="center", fontsize=9, bbox=background)
    else:
        color = "white" if shade < 0.46 else "black"  # the one with more contrast
        axes.text(x, y, f"{value:.3f}{mark}", ha="center", va="center", color=color, fontsize=11)


def _draw_frame(axes: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="white", linewidth=3.4))
    axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.8))


def _label_axes(axes: Axes, rows: list[str], columns: list[str], turned: bool) -> None:
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [shorten(name) for name in rows])
    axes.set_xticks(range(len(columns)), [shorten(name) for name in columns])
    if turned:
        for tick in axes.get_xticklabels():
            tick.set(rotation=30, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
