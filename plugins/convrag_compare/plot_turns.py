"""A measure by the position of the turn in its conversation: a panel for each run, with the baseline in grey."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plot_style import join_equal_rows, join_title, name_rows, shorten
from convrag_compare.run_result import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEWEST = 2
"""Where no position is in five conversations, those that so many have are drawn, without bands."""

_PANELS = 12
_COLUMNS = 4
_INK, _BAND, _BASELINE = "#08519c", "#9ecae1", "0.35"


@dataclass(frozen=True)
class Curve:
    """The curve of one run.

    Args:
        rows: the run, and those with the same score in every turn.
        positions: of turns in their conversations, from 1, in rising order.
        means: of the measure at each position.
        low: the lower ends of the 95 % intervals; NaN over fewer than five conversations.
        high: the upper ends.
    """

    rows: Sequence[Row]
    positions: Sequence[int]
    means: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class TurnCurves:
    """The curves of a plot by turn.

    Args:
        curves: the best run first, each of equal runs once.
        conversations: position -> how many conversations have a scored turn there, in the run with the most.
        left_out: the positions that are not drawn, since too few conversations have them.
        least: how many conversations a position must have to be drawn.
    """

    curves: Sequence[Curve]
    conversations: Mapping[int, int]
    left_out: Sequence[int]
    least: int

    def describe_left_out(self) -> str:
        """What the plot says of the positions that it leaves out: `not drawn: turns 10 to 12 (fewer than 5 ...)`."""
        if not self.left_out:
            return ""
        first, last = self.left_out[0], self.left_out[-1]
        together = len(self.left_out) == last - first + 1
        named = f"{first} to {last}" if together and last > first else ", ".join(map(str, self.left_out))
        noun = "turn" if len(self.left_out) == 1 else "turns"
        few = "only one conversation" if self.least == _FEWEST else f"fewer than {self.least} conversations"
        return f"not drawn: {noun} {named}, of {few}"


def make_curves(board: Leaderboard, measure: str) -> TurnCurves:
    """The curves of all runs by a measure; none where no position is in two conversations."""
    scored = [row for row in board.rows if row.scores[measure].mean == row.scores[measure].mean]
    rows = sorted(scored, key=lambda row: -row.scores[measure].mean)
    counts = _count_conversations(rows, measure)
    least = LEAST if any(count >= LEAST for count in counts.values()) else _FEWEST
    drawn = [number for number, count in counts.items() if count >= least]
    curves = [_make_curve(same, measure, drawn, least) for same in join_equal_rows(rows, measure)]
    return TurnCurves(
        curves=[curve for curve in curves if curve.positions],
        conversations={number: counts[number] for number in drawn},
        left_out=[number for number in counts if number not in drawn],
        least=least,
    )


def _make_curve(rows: Sequence[Row], measure: str, drawn: Sequence[int], least: int) -> Curve:
    by_position = _group_by_position(rows[0].result.scores, measure)
    positions = [number for number in drawn if len(by_position.get(number, ())) >= least]
    names = list(dict.fromkeys(name for number in positions for name in by_position[number]))
    sums, sizes = np.zeros((len(names), len(positions))), np.zeros((len(names), len(positions)))
    for column, number in enumerate(positions):
        for name, values in by_position[number].items():
            sums[names.index(name), column] = sum(values)
            sizes[names.index(name), column] = len(values)
    bounds = bootstrap_intervals(sums, sizes) if positions else np.empty((0, 2))
    means = sums.sum(axis=0) / sizes.sum(axis=0)
    return Curve(rows, positions, means.tolist(), bounds[:, 0].tolist(), bounds[:, 1].tolist())


def _group_by_position(scores: Scores, measure: str) -> dict[int, dict[str, list[float]]]:
    """Position of a turn -> conversation -> the values of the measure there, in rising order of positions."""
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = scores.numbers, scores.conversations, scores.measures.get(measure, ())
    for number, name, value in zip(*columns, strict=False):
        if value == value:
            found[number][name].append(value)
    return dict(sorted(found.items()))


def _count_conversations(rows: Sequence[Row], measure: str) -> dict[int, int]:
    """Position of a turn -> how many conversations have a scored turn there, in the run with the most."""
    counts: dict[int, int] = defaultdict(int)
    for row in rows:
        for number, names in _group_by_position(row.result.scores, measure).items():
            counts[number] = max(counts[number], len(names))
    return dict(sorted(counts.items()))


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
