"""Curves: a measure by the position of the turn in its conversation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.sdk.output.plots import make_figure
from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plots.run_labels import join_equal_rows
from convrag_compare.run_result import Scores
from convrag_compare.tables import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_MOST_PANELS = 12
_COLUMNS = 4


@dataclass(frozen=True)
class Curve:
    """The curve of one run, at the positions that five conversations have.

    Args:
        name: the name of the run, joined with the names of equal runs.
        row: the run.
        positions: positions of turns in their conversations, from 1, in rising order.
        means: the mean of the measure at each position.
        bounds: the ends of the 95 % intervals, (positions, 2).
    """

    name: str
    row: Row
    positions: Sequence[int]
    means: NDArray[np.float64]
    bounds: NDArray[np.float64]


def make_curves(board: Leaderboard, measure: str) -> list[Curve]:
    """Make the curves of all runs by a measure, the best first; equal runs share one."""
    curves = []
    for name, row in join_equal_rows(board, measure):
        by_position = _group_by_position(row.result.scores, measure)
        shown = {
            position: conversations
            for position, conversations in by_position.items()
            if len(conversations) >= LEAST
        }
        if shown:
            curves.append(_make_curve(name, row, shown))
    return curves


def _make_curve(name: str, row: Row, values: dict[int, dict[str, list[float]]]) -> Curve:
    """Make a curve of the values by position and conversation."""
    positions = list(values)
    names = list(dict.fromkeys(name for at_position in values.values() for name in at_position))
    place_of = {name: place for place, name in enumerate(names)}
    sums = np.zeros((len(names), len(positions)))
    sizes = np.zeros((len(names), len(positions)))
    for column, at_position in enumerate(values.values()):
        for conversation, scores in at_position.items():
            sums[place_of[conversation], column] = sum(scores)
            sizes[place_of[conversation], column] = len(scores)
    means = sums.sum(axis=0) / sizes.sum(axis=0)
    return Curve(name, row, positions, means, bootstrap_intervals(sums, sizes))


def _group_by_position(scores: Scores, measure: str) -> dict[int, dict[str, list[float]]]:
    """Group the values of a measure: position -> conversation -> values, by rising position."""
    groups: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    column = scores.measures.get(measure, ())
    for position, name, value in zip(scores.numbers, scores.conversations, column, strict=False):
        if not isnan(value):
            groups[position][name].append(value)
    return dict(sorted(groups.items()))


def draw_turns(board: Leaderboard, measure: str, curves: Sequence[Curve]) -> Figure:
    """Draw a measure by turn: the best twelve runs, a panel each, and the baseline in grey."""
    shown = curves[:_MOST_PANELS]
    columns = min(len(shown), _COLUMNS)
    rows = ceil(len(shown) / columns)
    figure = make_figure(1.0 + 2.5 * columns, 1.5 + 2.1 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for unused in grid.flat[len(shown) :]:
        unused.set_axis_off()

    baseline = next((curve for curve in curves if curve.row.result is board.baseline), None)
    handles: dict[str, Any] = {}
    for axes, curve in zip(grid.flat, shown, strict=False):
        handles |= _draw_panel(axes, curve, baseline)
    figure.legend(handles.values(), handles, loc="outside upper right", ncols=len(handles))
    label = f"turn (of at least {LEAST} conversations)"
    if len(shown) < len(curves):
        label += f", the best {len(shown)} of {len(curves)} runs"
    figure.supxlabel(label, fontsize=9)
    figure.supylabel(measure, fontsize=10)
    return figure


def _draw_panel(axes: Axes, curve: Curve, baseline: Curve | None) -> dict[str, Any]:
    """Draw a run with its 95 % band, and return the handles of the legend by their labels."""
    handles: dict[str, Any] = {}
    style: dict[str, Any] = {"color": "#08519c", "marker": "o", "ms": 3.6, "zorder": 3}
    (handles["run of the panel"],) = axes.plot(curve.positions, curve.means, **style)
    low, high = curve.bounds.T
    style = {"color": "#9ecae1", "alpha": 0.55, "lw": 0, "zorder": 1}
    handles["95 % interval"] = axes.fill_between(curve.positions, low, high, **style)
    if baseline is not None and baseline is not curve:
        style = {"color": "0.35", "ls": "--", "lw": 1.1, "zorder": 2}
        (line,) = axes.plot(baseline.positions, baseline.means, **style)
        handles[shorten(f"baseline ({baseline.name})", 60)] = line
    axes.set_title(shorten(curve.name, 40), fontsize=9)
    axes.locator_params(axis="x", integer=True)
    return handles
