"""A measure by the position of the turn in its conversation: a panel for each run, with the baseline in grey."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from convrag_compare.equal_runs import name_rows
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.plot_style import join_title, shorten
from convrag_compare.turn_curves import Curve, TurnCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = 12
_COLUMNS = 4
_INK, _BAND, _BASELINE = "#08519c", "#9ecae1", "0.35"


def draw_turns(board: Leaderboard, measure: str, shown: TurnCurves) -> Figure:
    """Draw a measure by turn: the best twelve runs, each in a panel with its 95 % band, and the baseline in grey.

    Runs with the same score in every turn have one panel. The plot says which turns are left out.
    """
    from matplotlib.figure import Figure

    curves = shown.curves[:_PANELS]
    columns = min(len(curves), _COLUMNS if len(curves) > 6 or len(curves) == 4 else 3)
    downwards = ceil(len(curves) / columns)
    figure = Figure(figsize=(max(4.6, 1.0 + 2.5 * columns), 1.5 + 2.1 * downwards))
    grid = figure.subplots(downwards, columns, sharex=True, sharey=True, squeeze=False)
    baseline = next((c for c in shown.curves if any(row.result is board.baseline for row in c.rows)), None)
    reference = f"baseline ({', '.join(name_rows(board, baseline.rows))})" if baseline else ""
    handles: dict[str, Any] = {}
    for index, axes in enumerate(grid.flat):
        if index >= len(curves):
            axes.set_axis_off()
            continue
        handles |= _draw_panel(axes, curves[index], baseline, reference)
        axes.set_title(_break_line(name_rows(board, curves[index].rows)), fontsize=9)
        if index + columns >= len(curves):
            axes.tick_params(labelbottom=True)
            _label_positions(axes, shown)
    names = list(handles)
    figure.legend(list(handles.values()), names, loc="outside upper right", ncols=min(len(names), columns + 1))
    left_out = len(shown.curves) - len(curves)
    worst = f"the best {len(curves)} of {len(shown.curves)} runs" if left_out else ""
    below = join_title(["turn (in brackets: conversations)", worst]), shown.describe_left_out()
    figure.supxlabel("\n".join(line for line in below if line), fontsize=9)
    figure.supylabel(measure, fontsize=10)
    return figure


def _draw_panel(axes: Axes, curve: Curve, baseline: Curve | None, name: str) -> dict[str, Any]:
    """Draw a curve with its band, and the baseline's; the handles of the legend by their names."""
    handles: dict[str, Any] = {}
    if baseline and baseline is not curve:
        (line,) = axes.plot(baseline.positions, baseline.means, color=_BASELINE, ls="--", lw=1.1, zorder=2)
        handles[shorten(name, 60)] = line
    if any(low == low for low in curve.low):
        band = axes.fill_between(curve.positions, curve.low, curve.high, color=_BAND, alpha=0.55, lw=0, zorder=1)
        handles["95 % interval"] = band
    (line,) = axes.plot(curve.positions, curve.means, color=_INK, marker="o", ms=3.6, lw=1.5, zorder=3)
    axes.grid(axis="y", color="0.9", lw=0.8)
    axes.set_axisbelow(True)
    return {"run of the panel": line, **handles}


def _break_line(parts: Sequence[str], width: int = 30) -> str:
    """The parts with commas, on as many lines as they need."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines[-1] += ","
            lines.append("")
        lines[-1] = join_title([lines[-1], part])
    return "\n".join(lines)


def _label_positions(axes: Axes, shown: TurnCurves) -> None:
    """A tick for each position, or for every second or third one, with the number of conversations below."""
    numbers = list(shown.conversations)
    ticks = numbers[:: max(1, ceil(len(numbers) / 9))]
    axes.set_xticks(ticks, [f"{number}\n({shown.conversations[number]})" for number in ticks], fontsize=7.5)
