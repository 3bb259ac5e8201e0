"""Scatter plots: a measure against cost and latency, with a point for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from convrag.sdk.output.plots import make_figure
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plots.run_labels import join_equal_rows, mark_partial, set_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LISTED = 30
"""The number of best runs that are listed next to a scatter plot; the Pareto front always is."""

_LOG_RATIO = 30
"""The ratio of the greatest to the least x from which the x axis is logarithmic."""

# A limit in steps, because one in seconds would make the plot depend on the machine's speed
_ADJUSTMENTS = 100


def has_costs(board: Leaderboard) -> bool:
    """Whether anything was paid, or any token was used."""
    return any(row.result.usage.cost_usd or row.result.usage.tokens for row in board.rows)


def draw_cost(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure against dollars per 1,000 turns, or tokens where no run cost anything."""
    if any(row.result.usage.cost_usd for row in board.rows):
        return _draw_scatter(
            board,
            measure,
            "cost",
            "$ per 1,000 turns",
            lambda row: row.result.per_thousand_turns(row.result.usage.cost_usd),
        )
    return _draw_scatter(
        board,
        measure,
        "tokens",
        "prompt and completion tokens per 1,000 turns",
        lambda row: row.result.per_thousand_turns(row.result.usage.tokens),
    )


def draw_latency(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure against milliseconds per turn.

    A reused call counts with the time that it took when it was made. Otherwise the cells that ran
    first would look slow, because they made the calls that all cells share.
    """
    label = "ms per turn"
    if any(row.result.usage.reused for row in board.rows):
        label += ", reused calls as long as they once took"
    return _draw_scatter(board, measure, "latency", label, lambda row: row.result.full_latency)


def find_pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Find the points (x, y) that no other point beats on both axes.

    Low x and high y are better.

    Returns:
        The indices of the points, by rising x.
    """
    front: list[int] = []
    highest = float("-inf")
    for index in sorted(
        range(len(points)), key=lambda place: (points[place][0], -points[place][1])
    ):
        y = points[index][1]
        if y > highest:
            front.append(index)
            highest = y
    return front


def _draw_scatter(
    board: Leaderboard, measure: str, against: str, x_label: str, x_of: Callable[[Row], float]
) -> Figure:
    """Draw a point for each run with its place by the measure, and the list of runs next to it."""
    runs = join_equal_rows(board, measure, x_of)
    points = [(x_of(row), row.scores[measure].mean) for _, row in runs]
    front = find_pareto_front(points)
    listed = sorted({*range(min(len(runs), _LISTED)), *front})
    lines = []
    for place in listed:
        name, row = runs[place]
        lines.append(f"{place + 1:>2}  {name}{mark_partial([row])}")

    list_width = 0.085 * max(map(len, lines))
    figure = make_figure(6.2 + list_width, max(4.2, 0.187 * (len(lines) + 2)))
    axes, legend = figure.subplots(1, 2, width_ratios=[5.2, 1 + list_width])
    legend.set_axis_off()
    place_in_legend = {"va": "top", "transform": legend.transAxes, "in_layout": False}
    legend.text(0, 1, "\n".join(lines), fontsize=8.5, **place_in_legend)

    for (x, _), (_, row) in zip(points, runs, strict=True):
        score = row.scores[measure]
        axes.plot([x, x], [score.low, score.high], color="0.8", lw=1.2, zorder=0)
    axes.plot(*zip(*points, strict=True), "o", color="black", ms=6, zorder=3)
    steps = list(_list_steps([points[place] for place in front]))
    axes.plot(*zip(*steps, strict=True), color="0.5", lw=1, zorder=1)

    xs = [x for x, _ in points]
    if 0 < _LOG_RATIO * min(xs) < max(xs):
        _use_log_scale(axes)
    axes.margins(0.12)
    set_frame(axes, x_label, measure, [f"{measure} against {against}"], [row for _, row in runs])
    label_points(axes, [(*points[place], str(place + 1)) for place in listed])
    return figure


def _list_steps(front: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield the corners of the staircase through the points of a Pareto front."""
    for (x, y), (next_x, _) in pairwise(front):
        yield x, y
        yield next_x, y
    yield front[-1]


def _use_log_scale(axes: Axes) -> None:
    """Make the x axis logarithmic, with plain numbers (`1,000`) in place of formulas."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def label_points(axes: Axes, labels: Sequence[tuple[float, float, str]]) -> None:
    """Write each label (x, y, text) next to its point, with a thin line where it had to move away.

    The layout of the figure is fixed first: the free space depends on it.
    """
    from adjustText import adjust_text

    figure: Any = axes.figure
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    texts = [
        axes.text(x, y, text, fontsize=8.5, ha="left", va="bottom", zorder=4)
        for x, y, text in labels
    ]
    xs, ys, _ = zip(*labels, strict=True)
    adjust_text(
        texts,
        xs,
        ys,
        ax=axes,
        iter_lim=_ADJUSTMENTS,
        expand=(1.08, 1.25),
        force_text=(0.2, 0.4),
        force_static=(0.4, 0.6),
        min_arrow_len=12,
        arrowprops={"arrowstyle": "-", "color": "0.5", "lw": 0.6},
    )
