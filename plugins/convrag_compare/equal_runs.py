"""Runs with the same score in every turn, which plots and tables show once: `none = last_n`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from convrag_compare.factors import get_level
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.plot_style import shorten_all

_NAMED = 3
"""Of more equal ones, so many are named."""


def join_equal_rows(rows: Sequence[Row], measure: str) -> list[list[Row]]:
    """The rows in groups of those with the same value of a measure in every turn, in the order of their first."""
    groups: dict[tuple[tuple[str, ...], bytes, float, str], list[Row]] = {}
    for row in rows:
        scores = row.result.scores
        column = scores.measures.get(measure)
        values = column.tobytes() if column is not None else b""
        same = tuple(scores.turns), values, row.scores[measure].mean, row.result.state
        groups.setdefault(same, []).append(row)
    return list(groups.values())


def name_rows(board: Leaderboard, rows: Sequence[Row], length: int = 18) -> list[str]:
    """What a plot calls equal runs, a text for each factor: [`condense`, `lsa = kmeans`].

    Equal runs that are not all combinations of some levels have their names in one text: [`none lsa = last_n kmeans`].
    """
    short = {factor: shorten_all(levels, length) for factor, levels in board.factors.items()}
    labels = [[short[factor][get_level(row.result, factor)] for factor in board.factors] for row in rows]
    if not board.factors:
        return [join_names([row.result.name for row in rows])]
    levels = [list(dict.fromkeys(column)) for column in zip(*labels, strict=True)]
    if prod(map(len, levels)) == len({tuple(each) for each in labels}):
        return [join_names(names) for names in levels]
    return [join_names([" ".join(each) for each in labels])]


def join_names(names: Sequence[str], separator: str = " = ") -> str:
    """The names of equal things as one text: `none = last_n`; of more than three, `a = b = c = 2 more`."""
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - _NAMED
    shown = distinct if more <= 0 else [*distinct[:_NAMED], f"{more} more"]
    return separator.join(shown)
