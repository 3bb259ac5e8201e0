"""What a heat map shows: a measure over two factors, with everything else equal, and levels that are equal once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from convrag_compare.equal_runs import join_names
from convrag_compare.factors import get_level, get_levels
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.plot_style import mark_partial, shorten_all
from convrag_compare.tables import format_number

_PREFERRED = ("rewriter", "ranker")


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map.

    Args:
        value: of the measure; None where no run has one.
        mark: an asterisk if the run is partial.
        best: whether its value, as it is printed, is the highest of this heat map.
    """

    value: float | None
    mark: str = ""
    best: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A heat map: the labels of its rows and columns, and the cells of each row.

    Levels with the same values are one row, or one column: `none = last_n`.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[HeatCell]]


def list_moving_factors(board: Leaderboard, measure: str) -> list[str]:
    """The factors that move a measure; all where none does. A factor of which no pair of runs tells is one of them."""
    moving = [name for name in board.factors if measure not in board.movements[name].unmoved]
    return moving or list(board.factors)


def choose_axes(board: Leaderboard, measure: str) -> tuple[str, str]:
    """The factors of the rows and of the columns: rewriter and ranker, else the two with the most levels.

    Only factors that move the measure count. The second is empty where there is but one.
    """
    moving = list_moving_factors(board, measure)
    if all(name in moving for name in _PREFERRED):
        return _PREFERRED
    widest = sorted(moving, key=lambda name: -len(board.factors[name]))[:2]
    down, *across = sorted(widest, key=moving.index)
    return down, across[0] if across else ""


def list_combinations(board: Leaderboard, measure: str) -> list[dict[str, str]]:
    """The combinations of levels of all other factors that move the measure, in the order of the grid.

    Each has a heat map of its own.
    """
    axes = choose_axes(board, measure)
    others = [name for name in list_moving_factors(board, measure) if name not in axes]
    found = {get_levels(row.result, others) for row in board.rows}
    ordered = sorted(found, key=lambda each: [board.factors[f].index(v) for f, v in zip(others, each, strict=True)])
    return [dict(zip(others, each, strict=True)) for each in ordered]


def make_heat_map(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> HeatMap:
    """The heat map of a measure for one combination of the other factors."""
    down, across = choose_axes(board, measure)
    rows, columns = board.factors[down], board.factors.get(across, [""])
    scored = [row.result for row in board.rows if measure in row.result.overall]
    cells: list[list[HeatCell]] = []
    for name in rows:
        cells.append([])
        for other in columns:
            wanted = {down: name, **({across: other} if across else {}), **combination}
            found = [o for o in scored if all(get_level(o, f) == v for f, v in wanted.items())]
            value = fmean(o.overall[measure] for o in found) if found else None
            cells[-1].append(HeatCell(value, mark_partial(found)))
    row_labels, cells = _join_equal([shorten_all(rows)[name] for name in rows], cells)
    turned = [list(column) for column in zip(*cells, strict=True)]
    column_labels, turned = _join_equal([shorten_all(columns)[name] for name in columns], turned)
    cells = [list(row) for row in zip(*turned, strict=True)]
    return HeatMap(row_labels, column_labels, _mark_best(cells))


def _join_equal(labels: Sequence[str], lines: Sequence[list[HeatCell]]) -> tuple[list[str], list[list[HeatCell]]]:
    """Rows (or columns) with their labels; of those with the same values, one with all their labels."""
    groups: dict[tuple[tuple[float | None, str], ...], list[int]] = {}
    for index, cells in enumerate(lines):
        # runs of equal turns may differ in the last digits of their means
        key = tuple((None if cell.value is None else round(cell.value, 12), cell.mark) for cell in cells)
        empty = all(cell.value is None for cell in cells)
        groups.setdefault((*key, (float(index), "empty")) if empty else key, []).append(index)
    joined = [join_names([labels[index] for index in same]) for same in groups.values()]
    return joined, [list(lines[same[0]]) for same in groups.values()]


def _mark_best(cells: Sequence[Sequence[HeatCell]]) -> list[list[HeatCell]]:
    values = [cell.value for row in cells for cell in row if cell.value is not None]
    best = format_number(max(values)) if values else ""
    return [
        [HeatCell(c.value, c.mark, c.value is not None and format_number(c.value) == best) for c in row]
        for row in cells
    ]
