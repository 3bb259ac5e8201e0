"""How quality changes in the course of a conversation: a line for each run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from statistics import fmean
from typing import TYPE_CHECKING, Any

from convrag_compare.drawing import LINES, MARKERS, short, titled
from convrag_compare.factors import label, level, settings
from convrag_compare.leaderboard import Leaderboard, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES_IN_A_PANEL = 6
_PANELS = 12
_COLUMNS = 3


def by_turn(board: Leaderboard) -> Figure:
    """The metric by the position of the turn. Panels differ in all factors but one; its levels are the lines.

    More runs than fit into twelve panels are left out, the worst first.
    """
    from matplotlib.figure import Figure

    panels, common = _panels(board)
    panels = panels[:_PANELS]
    columns = min(_COLUMNS if common and len(panels) != 4 else _COLUMNS - 1, len(panels))
    wide, high = (3.1, 2.5) if common else (5.0, 2.9)
    downwards = ceil(len(panels) / columns)
    figure = Figure(figsize=(max(6.4, 1.0 + wide * columns), max(4.0, high * downwards + 1.2)))
    grid = figure.subplots(downwards, columns, sharex=True, sharey=True, squeeze=False)
    counts = _counts(board)
    shown: dict[str, Any] = {}
    for index, axes in enumerate(grid.flat):
        if index >= len(panels):
            axes.set_axis_off()
            continue
        title, lines = panels[index]
        drawn = {name: _line(axes, row, board.metric, look, name) for name, look, row in lines}
        shown |= drawn
        axes.set_title(title, fontsize=10)
        axes.grid(axis="y", color="0.9", lw=0.8)
        axes.set_axisbelow(True)
        if not common:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8.5)
        if index + columns >= len(panels):
            axes.tick_params(labelbottom=True)
            _positions(axes, counts)
    if common:
        names = list(shown)
        figure.legend(list(shown.values()), names, loc="outside upper center", ncols=_legend_columns(names, columns))
    figure.supxlabel("turn of the conversation (below: how many were scored)", fontsize=10)
    figure.supylabel(board.metric, fontsize=10)
    return figure


def _panels(board: Leaderboard) -> tuple[list[tuple[str, list[tuple[str, int, Row]]]], bool]:
    """Title and lines (name, look, row) of each panel, and whether a name has the same look in all of them."""
    rows = [row for row in board.rows if row.outcome.scores.turns and row.mean == row.mean]
    fitting = [name for name, levels in board.factors.items() if len(levels) <= _LINES_IN_A_PANEL]
    if len(rows) <= _LINES_IN_A_PANEL or not fitting:
        return _by_place(board, rows), len(rows) <= _LINES_IN_A_PANEL
    lines = max(fitting, key=lambda name: len(board.factors[name]))
    others = [name for name in board.factors if name != lines]
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[settings(row.outcome, others)].append(row)
    ordered = sorted(found, key=lambda each: [board.factors[f].index(v) for f, v in zip(others, each, strict=True)])
    titles = [titled([short(value, 18) for value in each]) for each in ordered]
    return [(title, _lines(board, lines, found[each])) for title, each in zip(titles, ordered, strict=True)], True


def _by_place(board: Leaderboard, rows: Sequence[Row]) -> list[tuple[str, list[tuple[str, int, Row]]]]:
    """So many to a panel, the best first."""
    panels = []
    for start in range(0, len(rows), _LINES_IN_A_PANEL):
        part = rows[start : start + _LINES_IN_A_PANEL]
        title = f"places {start + 1} to {start + len(part)}" if len(rows) > len(part) else f"{board.metric} by turn"
        named = [short(label(row.outcome, board.factors), 44) for row in part]
        panels.append((title, [(name, look, row) for look, (name, row) in enumerate(zip(named, part, strict=True))]))
    return panels


def _lines(board: Leaderboard, factor: str, rows: Sequence[Row]) -> list[tuple[str, int, Row]]:
    levels = board.factors[factor]
    ordered = sorted(rows, key=lambda row: levels.index(level(row.outcome, factor)))
    return [(f"{factor}={short(n)}", levels.index(n), row) for row in ordered for n in [level(row.outcome, factor)]]


def _line(axes: Axes, row: Row, metric: str, index: int, name: str) -> Any:
    values = _by_position(row, metric)
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


def _by_position(row: Row, metric: str) -> dict[int, list[float]]:
    """Turn number -> values, by rising number."""
    found: dict[int, list[float]] = defaultdict(list)
    scores = row.outcome.scores
    for number, value in zip(scores.numbers, scores.measures.get(metric, ()), strict=False):
        if value == value:
            found[number].append(value)
    return dict(sorted(found.items()))


def _counts(board: Leaderboard) -> dict[int, int]:
    """Turn number -> how many were scored, at most, in a run."""
    counts: dict[int, int] = defaultdict(int)
    for row in board.rows:
        for number, values in _by_position(row, board.metric).items():
            counts[number] = max(counts[number], len(values))
    return dict(sorted(counts.items()))


def _positions(axes: Axes, counts: dict[int, int]) -> None:
    """A tick for each turn (for some, where there are many), with the number of turns below."""
    numbers = list(counts)
    every = max(1, ceil(len(numbers) / 10))
    ticks = numbers[::every]
    axes.set_xticks(ticks, [f"{number}\n({counts[number]})" for number in ticks], fontsize=8)


def _legend_columns(names: Sequence[str], panels: int) -> int:
    """As many names as fit beside each other over so many panels."""
    return max(1, min(len(names), (40 + 24 * panels) // (max(map(len, names)) + 6)))
