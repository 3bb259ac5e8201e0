"""Scatter plots of a measure against cost and latency: a point for each run."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from convrag_compare.factors import get_level
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plot_style import (
    MARKER_SIZE,
    MARKERS,
    SHADES,
    explain_mark,
    join_equal_rows,
    join_title,
    label_points,
    mark_partial,
    name_rows,
    shorten_all,
    use_log_scale,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_FEW = 12
"""Up to so many runs have their intervals drawn, and their names at their points if only one factor was varied."""

_LISTED = 30
"""So many runs have numbers and are listed: the best ones, besides all that are on the Pareto front."""


def has_costs(board: Leaderboard) -> bool:
    """Whether anything was paid, or any token was used."""
    return any(row.result.usage.cost_usd or row.result.usage.tokens for row in board.rows)


def draw_cost(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure against dollars per 1,000 turns, or against tokens where no run cost anything."""
    if any(row.result.usage.cost_usd for row in board.rows):
        return _draw_figure(
            board,
            measure,
            "cost",
            "$ per 1,000 turns",
            lambda row: 1000 * row.result.usage.cost_usd / _count_turns(row),
        )
    return _draw_figure(
        board,
        measure,
        "tokens",
        "prompt and completion tokens per turn",
        lambda row: row.result.usage.tokens / _count_turns(row),
    )


def draw_latency(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure against milliseconds per turn.

    A reused call counts with the time that it took when it was made. Otherwise the cells that ran first would look
    slow, because they made the calls that all cells share.
    """
    reused = any(row.result.usage.reused for row in board.rows)
    meaning = "ms per turn" + (", reused calls as long as they once took" if reused else "")
    return _draw_figure(board, measure, "latency", meaning, lambda row: row.result.full_latency)


def find_pareto_front(points: list[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other point beats on both axes, by rising x; low x and high y are better."""
    chosen: list[int] = []
    for index in sorted(range(len(points)), key=lambda index: (points[index][0], -points[index][1])):
        if not chosen or points[index][1] > points[chosen[-1]][1]:
            chosen.append(index)
    return chosen


def _count_turns(row: Row) -> int:
    return max(row.result.summary.turns, 1) if row.result.summary else 1


def _draw_figure(board: Leaderboard, measure: str, against: str, meaning: str, x_of: Callable[[Row], float]) -> Figure:
    from matplotlib.figure import Figure

    scored = [row for row in board.rows if row.scores[measure].mean == row.scores[measure].mean]
    rows = sorted(scored, key=lambda row: -row.scores[measure].mean)  # the numbers are the places
    runs = _join_equal_points(rows, measure, x_of)  # one point for runs that are equal in both
    rows = [same[0] for same in runs]
    points = [(x_of(row), row.scores[measure].mean) for row in rows]
    front = find_pareto_front(points)
    names = [" ".join(name_rows(board, same)) + mark_partial([same[0].result]) for same in runs]
    numbered = len(rows) > _FEW or len(board.factors) > 1
    if not numbered:
        labels = [(*point, name) for point, name in zip(points, names, strict=True)]
        figure = Figure(figsize=(7.6, 4.6))
        axes = figure.add_subplot()
        _draw_points(axes, measure, rows, points, lambda row: (MARKERS[0], SHADES[0]))
    else:
        listed = sorted({*range(min(len(rows), _LISTED)), *front})
        labels = [(*points[i], str(i + 1)) for i in listed]
        lines, handles = [f"{i + 1:>2}  {names[i]}" for i in listed], _make_legend(board)
        wide = 0.085 * max(map(len, [*lines, *(f"{handle.get_label()}____" for handle in handles)]))
        figure = Figure(figsize=(6.2 + wide, max(4.2, 0.187 * (len(lines) + len(handles) + 2))))
        axes, beside = figure.subplots(1, 2, width_ratios=[5.2, 1 + wide])
        _draw_points(axes, measure, rows, points, lambda row: _choose_marker(board, row))
        _draw_list(beside, handles, lines)
    _draw_front(axes, [points[i] for i in front])
    if 0 < 30 * min(x for x, _ in points) < max(x for x, _ in points):
        use_log_scale(axes)
    axes.margins(0.12)
    axes.set_xlabel(meaning)
    axes.set_ylabel(measure)
    axes.set_title(join_title([f"{measure} against {against}", *explain_mark([row.result for row in rows])]))
    label_points(axes, labels, points, beside=numbered)
    return figure


def _join_equal_points(rows: list[Row], measure: str, x_of: Callable[[Row], float]) -> list[list[Row]]:
    """The rows in groups. The rows of a group are equal in every turn, and on the other axis."""
    groups: dict[tuple[int, float], list[Row]] = {}
    for number, same in enumerate(join_equal_rows(rows, measure)):
        for row in same:
            groups.setdefault((number, x_of(row)), []).append(row)
    return list(groups.values())


def _draw_points(
    axes: Axes,
    measure: str,
    rows: list[Row],
    points: list[tuple[float, float]],
    marker_of: Callable[[Row], tuple[str, str]],
) -> None:
    """Draw a marker for each run, and its interval where the runs are few."""
    for row, (x, y) in zip(rows, points, strict=True):
        marker, shade = marker_of(row)
        score = row.scores[measure]
        if len(rows) <= _FEW and score.low == score.low:
            axes.plot([x, x], [score.low, score.high], color="0.7", lw=1.2, zorder=0)
        axes.plot([x], [y], marker=marker, mfc=shade, mec="black", ms=MARKER_SIZE, mew=1.1, ls="", zorder=3)


def _draw_front(axes: Axes, front: list[tuple[float, float]]) -> None:
    """Join the points of the Pareto front by steps."""
    corners = [corner for (x, y), (next_x, _) in pairwise(front) for corner in ((x, y), (next_x, y))]
    axes.plot(*zip(*corners, front[-1], strict=True), color="0.5", lw=1, zorder=1)


def _choose_shown_factors(board: Leaderboard) -> tuple[str, str]:
    """The factors that the shape and the shade of a marker show; empty where none has few enough levels."""
    first = next((name for name, levels in board.factors.items() if len(levels) <= len(MARKERS)), "")
    others = [name for name, levels in board.factors.items() if name != first and len(levels) <= len(SHADES)]
    return first, others[0] if others else ""


def _choose_marker(board: Leaderboard, row: Row) -> tuple[str, str]:
    """The shape and the shade of a run's marker."""
    first, second = (
        board.factors[name].index(get_level(row.result, name)) if name else 0 for name in _choose_shown_factors(board)
    )
    return MARKERS[first], SHADES[second]


def _make_legend(board: Leaderboard) -> list[Line2D]:
    """The legend of shapes and shades."""
    from matplotlib.lines import Line2D

    handles: list[Line2D] = []
    for factor, shapes in zip(_choose_shown_factors(board), (True, False), strict=True):
        if factor:
            handles.append(Line2D([], [], ls="", label=f"{factor}:"))
        for index, name in enumerate(shorten_all(board.factors.get(factor, ())).values()):
            marker: dict[str, Any] = (
                {"marker": MARKERS[index], "mfc": SHADES[0]} if shapes else {"marker": "o", "mfc": SHADES[index]}
            )
            handles.append(Line2D([], [], ls="", mec="black", ms=MARKER_SIZE, label=name, **marker))
    return handles


def _draw_list(axes: Axes, handles: list[Line2D], lines: list[str]) -> None:
    """Draw the legend, and below it the runs with their numbers."""
    axes.set_axis_off()
    if handles:
        legend = axes.legend(handles=handles, loc="upper left", borderaxespad=0, handletextpad=0.4, labelspacing=0.35)
        legend.set_in_layout(False)
    position: dict[str, Any] = {"va": "bottom", "fontsize": 8.5, "linespacing": 1.35, "in_layout": False}
    axes.text(0, 0, "\n".join(lines), transform=axes.transAxes, **position)
