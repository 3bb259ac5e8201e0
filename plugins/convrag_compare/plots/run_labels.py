"""The names of runs in plots, where equal runs are one, and the frame of a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from convrag_compare.factors import get_level
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.run_result import PARTIAL
from convrag_compare.tables import shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 3
"""The number of equal runs whose names are shown; the others are counted."""


def set_frame(axes: Axes, x: str, y: str, title: Sequence[str], rows: Sequence[Row]) -> None:
    """Set the labels of the axes and the title, which explains the asterisk of partial runs."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    parts = list(title)
    if mark_partial(rows):
        parts.append("* partial")
    axes.set_title(", ".join(parts))


def mark_partial(rows: Sequence[Row]) -> str:
    """Return an asterisk if one of the runs is partial."""
    return "*" if any(row.result.state == PARTIAL for row in rows) else ""


def join_equal_rows(
    board: Leaderboard, measure: str, x_of: Callable[[Row], float] | None = None
) -> list[tuple[str, Row]]:
    """List the runs that a measure scored, best first, each with its name; equal runs are one.

    Args:
        board: the runs.
        measure: equal runs have the same value of it in every turn.
        x_of: if given, equal runs also have the same value of this function.

    Returns:
        The joined names of equal runs, and the first of them.
    """
    scored = [row for row in board.rows if not isnan(row.scores[measure].mean)]
    scored.sort(key=lambda row: -row.scores[measure].mean)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in scored:
        values = row.result.scores.measures.get(measure)
        column = row.scores[measure].mean if values is None else values.tobytes()
        x = None if x_of is None else x_of(row)
        same = (tuple(row.result.scores.turns), column, row.result.state, x)
        groups.setdefault(same, []).append(row)
    labels = {factor: shorten_all(levels, 18) for factor, levels in board.factors.items()}
    return [(_join_names(rows, labels), rows[0]) for rows in groups.values()]


def _join_names(rows: Sequence[Row], labels: dict[str, dict[str, str]]) -> str:
    """Join the names of equal runs: `none = last_n = 2 more`.

    Args:
        rows: the runs.
        labels: factor -> level -> its short label.
    """
    names = []
    for row in rows[:_NAMED]:
        levels = [short[get_level(row.result, factor)] for factor, short in labels.items()]
        names.append(" ".join(levels) or row.result.name)
    if len(rows) > _NAMED:
        names.append(f"{len(rows) - _NAMED} more")
    return " = ".join(names)
