"""The leaderboard on a terminal: one table where it is wide enough for all measures, else a table for each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag import Report
from convrag_compare.run_result import OK, PARTIAL
from convrag_compare.tables import format_interval, format_number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_GAP = 2

_PATH_WIDTH = 32
"""A longer path takes several lines."""


def print_tables(board: Report, states: Mapping[str, str], console: Console) -> None:
    """Print the tables of a leaderboard.

    Args:
        board: what `compare_runs` returns.
        states: how each run ended, by its name; empty for runs of no grid.
        console: where to.
    """
    for table in make_tables(board, states, console.width):
        console.print(table)


def make_tables(board: Report, states: Mapping[str, str], width: int) -> list[Table]:
    """The tables of a leaderboard for a terminal of this width, in characters; arguments as in `print_tables`."""
    rows = board.numbers["rows"]
    names = board.numbers["factors"] or ["run"]
    ended = [_choose_label(row, states) for row in rows]
    labels = [[names[i], *_shorten_levels([row["levels"][i] for row in rows])] for i in range(len(names))]
    metrics: list[str] = board.numbers["metrics"]
    blocks = {measure: _make_columns(rows, measure) for measure in metrics}
    together = [column for block in blocks.values() for column in block]
    state = ["state", *ended]
    title = f"Leaderboard, best {metrics[0]} first" if metrics else "Leaderboard"
    if len(metrics) < 2 or _measure_width([*labels, *together, state]) <= width:
        return [_make_table(title, labels, [*together, state], width)]
    first, *others = metrics
    tables = [_make_table(title, labels, [*blocks[first], state], width)]
    return tables + [_make_table(f"{name}, in the same order", labels, blocks[name], width) for name in others]


def _make_columns(rows: Sequence[Mapping[str, Any]], measure: str) -> list[list[str]]:
    """The columns of a measure, each with its heading; none that says nothing."""
    scores = [row["compared"][measure] for row in rows]
    columns = [
        [measure, *(format_number(score["mean"]) for score in scores)],
        ["95 %", *(format_interval(score["low"], score["high"]) for score in scores)],
        ["difference", *(score["difference"] for score in scores)],
        ["p (Holm)", *(score["p"] for score in scores)],
    ]
    return [column for column in columns if set(column[1:]) - {"", "baseline"}]


def _make_table(title: str, labels: Sequence[Sequence[str]], columns: Sequence[Sequence[str]], width: int) -> Table:
    from rich.table import Table

    padding = (0, 1) if _measure_width([*labels, *columns]) <= width else (0, 1, 0, 0)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=padding)
    for heading, *_ in labels:
        table.add_column(heading, overflow="fold")
    for heading, *_ in columns:
        text = heading == "state"
        table.add_column(heading, justify="left" if text else "right", overflow="fold", no_wrap=not text)
    wrapped = [[name, *(wrap_path(level) for level in levels)] for name, *levels in labels]
    for cells in zip(*(column[1:] for column in (*wrapped, *columns)), strict=True):
        table.add_row(*cells, style=_choose_style(cells[-1]) if columns[-1][0] == "state" else None)
    return table


def _shorten_levels(levels: Sequence[str]) -> list[str]:
    """Levels without the folders that all paths among them share: `/data/a/x.json`, `/data/b/x.json` -> `a/x.json`.

    They stay as they are where not all are paths.
    """
    distinct = set(levels)
    if len(distinct) < 2 or not all("/" in level for level in distinct):
        return list(levels)
    folders = [level.split("/")[:-1] for level in distinct]
    places = enumerate(zip(*folders, strict=False))
    shared = next((depth for depth, names in places if len(set(names)) > 1), min(map(len, folders)))
    return ["/".join(level.split("/")[shared:]) for level in levels]


def wrap_path(text: str, width: int = _PATH_WIDTH) -> str:
    """A long path on several lines that break behind its slashes."""
    lines = [""]
    for part in re.findall(r"[^/]*/|[^/]+$", text):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _choose_label(row: Mapping[str, Any], states: Mapping[str, str]) -> str:
    """How a run ended: in its grid ("reused"), if it is of one; of a partial run with counts."""
    return str(row["label"] if row["state"] == PARTIAL else states.get(row["name"], row["state"]))


def _choose_style(label: str) -> str | None:
    if label in (OK, "reused"):
        return None
    return "yellow" if label.startswith(PARTIAL) else "red"


def _measure_width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(_measure_text, column)) + _GAP for column in columns) - _GAP


def _measure_text(text: str) -> int:
    return max(map(len, wrap_path(text).split("\n")))
