"""A measure by the position of the turn in its conversation: a line for each run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any

from convrag.score.bootstrap import LEAST
from convrag_compare.factors import format_run, get_level, get_levels
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plot_style import LINES, MARKERS, join_title, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES_IN_A_PANEL = 6
_PANELS = 12
_COLUMNS = 3


def draw_turns(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure by turn. Each panel holds all factors but one equal, and has a line for each level of that one.

    At most twelve panels are drawn; the worst runs are left out. So are positions that fewer than five conversations
    have, unless all are such: their mean is that of a few turns.
    """
    from matplotlib.figure import Figure

    panels, common = _make_panels(board, measure)
    panels = panels[:_PANELS]
    columns = min(_COLUMNS if common and len(panels) != 4 else _COLUMNS - 1, len(panels))
    wide, high = (3.1, 2.5) if common else (5.0, 2.9)
    downwards = ceil(len(panels) / columns)
    figure = Figure(figsize=(max(6.4, 1.0 + wide * columns), max(4.0, high * downwards + 1.2)))
    grid = figure.subplots(downwards, columns, sharex=True, sharey=True, squeeze=False)
    counts = _count_by_position(board, measure)
    positions = [number for number, count in counts.items() if count >= LEAST] or list(counts)
    shown: dict[str, Any] = {}
    for index, axes in enumerate(grid.flat):
        if index >= len(panels):
            axes.set_axis_off()
            continue
        title, lines = panels[index]
        drawn = {name: _draw_line(axes, row, measure, positions, style, name) for name, style, row in lines}
        shown |= drawn
        axes.set_title(title, fontsize=10)
        axes.grid(axis="y", color="0.9", lw=0.8)
        axes.set_axisbelow(True)
        if not common:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8.5)
        if index + columns >= len(panels):
            axes.tick_params(labelbottom=True)
            _label_positions(axes, {number: counts[number] for number in positions})
    if common:
        names = list(shown)
        figure.legend(
            list(shown.values()), names, loc="outside upper center", ncols=_count_legend_columns(names, columns)
        )
    figure.supxlabel("turn of the conversation (below: how many were scored)", fontsize=10)
    figure.supylabel(measure, fontsize=10)
    return figure


def _make_panels(board: Leaderboard, measure: str) -> tuple[list[tuple[str, list[tuple[str, int, Row]]]], bool]:
    """The title and the lines (name, index of style, row) of each panel, and whether all panels share one legend."""
    scored = [row for row in board.rows if row.scores[measure].mean == row.scores[measure].mean]
    rows = sorted((row for row in scored if row.result.scores.turns), key=lambda row: -row.scores[measure].mean)
    fitting = [name for name, levels in board.factors.items() if len(levels) <= _LINES_IN_A_PANEL]
    if len(rows) <= _LINES_IN_A_PANEL or not fitting:
        return _make_panels_by_rank(board, measure, rows), len(rows) <= _LINES_IN_A_PANEL
    lines = max(fitting, key=lambda name: len(board.factors[name]))
    others = [name for name in board.factors if name != lines]
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[get_levels(row.result, others)].append(row)
    ordered = sorted(found, key=lambda each: [board.factors[f].index(v) for f, v in zip(others, each, strict=True)])
    titles = [join_title([shorten(value, 18) for value in each]) for each in ordered]
    return [(title, _make_lines(board, lines, found[each])) for title, each in zip(titles, ordered, strict=True)], True


def _make_panels_by_rank(
    board: Leaderboard, measure: str, rows: Sequence[Row]
) -> list[tuple[str, list[tuple[str, int, Row]]]]:
    """Panels of six runs each, the best first."""
    panels = []
    for start in range(0, len(rows), _LINES_IN_A_PANEL):
        part = rows[start : start + _LINES_IN_A_PANEL]
        title = f"places {start + 1} to {start + len(part)}" if len(rows) > len(part) else f"{measure} by turn"
        named = [shorten(format_run(row.result, board.factors), 44) for row in part]
        panels.append((title, [(name, style, row) for style, (name, row) in enumerate(zip(named, part, strict=True))]))
    return panels


def _make_lines(board: Leaderboard, factor: str, rows: Sequence[Row]) -> list[tuple[str, int, Row]]:
    levels = board.factors[factor]
    ordered = sorted(rows, key=lambda row: levels.index(get_level(row.result, factor)))
    return [
        (f"{factor}={shorten(n)}", levels.index(n), row) for row in ordered for n in [get_level(row.result, factor)]
    ]


def _draw_line(axes: Axes, row: Row, measure: str, positions: Sequence[int], index: int, name: str) -> Any:
    found = _group_by_position(row, measure)
    values = {number: found[number] for number in positions if number in found}
    (line,) = axes.plot(
        list(values),
        [fmean(each) for each in values.values()],
        color=str(0.55 * (index % 2)),
        ls=LINES[index % len(LINES)],
        marker=MARKERS[index % len(MARKERS)],
        mfc="white" if index % 2 else "black",
        mec="black",
        ms=5,
        lw=1.4,
        label=name,
    )
    return line


def _group_by_position(row: Row, measure: str) -> dict[int, list[float]]:
    """Position of a turn -> the values of the measure there, in rising order of positions."""
    found: dict[int, list[float]] = defaultdict(list)
    scores = row.result.scores
    for number, value in zip(scores.numbers, scores.measures.get(measure, ()), strict=False):
        if value == value:
            found[number].append(value)
    return dict(sorted(found.items()))


def _count_by_position(board: Leaderboard, measure: str) -> dict[int, int]:
    """Position of a turn -> how many turns were scored there, in the run with the most."""
    counts: dict[int, int] = defaultdict(int)
    for row in board.rows:
        for number, values in _group_by_position(row, measure).items():
            counts[number] = max(counts[number], len(values))
    return dict(sorted(counts.items()))


def _label_positions(axes: Axes, counts: dict[int, int]) -> None:
    """A tick for each position, or for every second or third one, with the number of scored turns below."""
    numbers = list(counts)
    every = max(1, ceil(len(numbers) / 10))
    ticks = numbers[::every]
    axes.set_xticks(ticks, [f"{number}\n({counts[number]})" for number in ticks], fontsize=8)


def _count_legend_columns(names: Sequence[str], panels: int) -> int:
    """How many names fit beside each other above so many panels."""
    return max(1, min(len(names), (40 + 24 * panels) // (max(map(len, names)) + 6)))
