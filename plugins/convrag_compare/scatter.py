"""Quality against what it takes: a point for each run, with its number in the list beside."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from convrag_compare.drawing import MARKERS, SHADES, short
from convrag_compare.factors import level
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.placing import place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_LISTED = 30
"""Runs that are numbered and listed at most: the best ones, and those on the front."""

_BARS = 12
"""Up to so many runs have their intervals drawn; more would hide the points."""


def has_costs(board: Leaderboard) -> bool:
    """Whether anything was paid, or any token was used."""
    return any(row.outcome.usage.cost_usd or _tokens(row) for row in board.rows)


def against_cost(board: Leaderboard) -> Figure:
    """The metric against dollars per 1,000 turns, or against tokens where nothing costs."""
    if any(row.outcome.usage.cost_usd for row in board.rows):
        return _figure(board, "cost", "$ per 1,000 turns", lambda row: 1000 * row.outcome.usage.cost_usd / _turns(row))
    return _figure(board, "tokens", "prompt and completion tokens per turn", lambda row: _tokens(row) / _turns(row))


def against_latency(board: Leaderboard) -> Figure:
    """The metric against the milliseconds of a turn, a reused call counting with the time that it once took.

    Otherwise the cells that ran first would look slow, for they made the calls that all share.
    """
    reused = any(row.outcome.usage.reused for row in board.rows)
    meaning = "ms per turn" + (", reused calls as long as they once took" if reused else "")
    return _figure(board, "latency", meaning, lambda row: row.outcome.full_latency)


def front(points: list[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other one beats on both axes, by rising x: less x is better, more y is."""
    chosen: list[int] = []
    for index in sorted(range(len(points)), key=lambda index: (points[index][0], -points[index][1])):
        if not chosen or points[index][1] > points[chosen[-1]][1]:
            chosen.append(index)
    return chosen


def _turns(row: Row) -> int:
    return max(row.outcome.summary.turns, 1) if row.outcome.summary else 1


def _tokens(row: Row) -> int:
    return row.outcome.usage.prompt_tokens + row.outcome.usage.completion_tokens


def _figure(board: Leaderboard, against: str, meaning: str, x_of: Callable[[Row], float]) -> Figure:
    from matplotlib.figure import Figure

    rows = [row for row in board.rows if row.mean == row.mean]
    points = [(x_of(row), row.mean) for row in rows]
    best = front(points)
    listed = sorted({*range(min(len(rows), _LISTED)), *best})
    named = [" ".join(short(level(rows[i].outcome, f), 18) for f in board.factors) for i in listed]
    names = [f"{i + 1:>2}  {name or rows[i].outcome.name}" for i, name in zip(listed, named, strict=True)]
    handles = _legend(board)
    wide = 0.085 * max(map(len, [*names, *(str(handle.get_label()) + "____" for handle in handles)]))
    figure = Figure(figsize=(6.2 + wide, max(4.2, 0.187 * (len(names) + len(handles) + 2))))
    axes, aside = figure.subplots(1, 2, width_ratios=[5.2, 1 + wide])
    _points(axes, board, rows, points)
    steps = [(x, y) for i, j in pairwise(best) for x, y in (points[i], (points[j][0], points[i][1]))]
    axes.plot(*zip(*steps, points[best[-1]], strict=True), color="0.5", lw=1, zorder=1)
    if 0 < 30 * min(x for x, _ in points) < max(x for x, _ in points):
        axes.set_xscale("log")
    axes.margins(0.12)
    axes.set_xlabel(meaning)
    axes.set_ylabel(board.metric)
    axes.set_title(f"{board.metric} against {against}")
    _aside(aside, handles, names)
    labels = [(*points[i], str(i + 1)) for i in listed]
    place_labels(figure, axes, labels, points, [*steps, points[best[-1]]])
    return figure


def _points(axes: Axes, board: Leaderboard, rows: list[Row], points: list[tuple[float, float]]) -> None:
    for row, (x, y) in zip(rows, points, strict=True):
        marker, shade = _look(board, row)
        if len(rows) <= _BARS and row.low == row.low:
            axes.plot([x, x], [row.low, row.high], color="0.75", lw=1, zorder=0)
        axes.plot([x], [y], marker=marker, mfc=shade, mec="black", ms=7, mew=1.1, ls="", zorder=3)


def _coded(board: Leaderboard) -> tuple[str, str]:
    """The factor that decides the shape of a point, and the one that decides its shade; each of few enough levels."""
    first = next((name for name, levels in board.factors.items() if len(levels) <= len(MARKERS)), "")
    others = [name for name, levels in board.factors.items() if name != first and len(levels) <= len(SHADES)]
    return first, others[0] if others else ""


def _look(board: Leaderboard, row: Row) -> tuple[str, str]:
    first, second = (board.factors[name].index(level(row.outcome, name)) if name else 0 for name in _coded(board))
    return MARKERS[first], SHADES[second]


def _legend(board: Leaderboard) -> list[Line2D]:
    """What shapes and shades mean."""
    from matplotlib.lines import Line2D

    handles: list[Line2D] = []
    for factor, shapes in zip(_coded(board), (True, False), strict=True):
        if factor:
            handles.append(Line2D([], [], ls="", label=f"{factor}:"))
        for index, name in enumerate(board.factors.get(factor, ())):
            look: dict[str, Any] = (
                {"marker": MARKERS[index], "mfc": SHADES[0]} if shapes else {"marker": "o", "mfc": SHADES[index]}
            )
            handles.append(Line2D([], [], ls="", mec="black", ms=7, label=short(name), **look))
    return handles


def _aside(axes: Axes, handles: list[Line2D], lines: list[str]) -> None:
    """What shapes and shades mean, and below it which run has which number."""
    axes.set_axis_off()
    if handles:
        legend = axes.legend(handles=handles, loc="upper left", borderaxespad=0, handletextpad=0.4, labelspacing=0.35)
        legend.set_in_layout(False)
    place: dict[str, Any] = {"va": "bottom", "fontsize": 8.5, "linespacing": 1.35, "in_layout": False}
    axes.text(0, 0, "\n".join(lines), transform=axes.transAxes, **place)
