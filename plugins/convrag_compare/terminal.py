"""The leaderboard on a terminal: one table where it is wide enough for all measures, else a table for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag import Report
from convrag_compare.plot_style import shorten_all
from convrag_compare.run_result import OK, PARTIAL
from convrag_compare.tables import format_interval, format_number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LONGEST_LEVEL = 32


def print_tables(board: Report, states: Mapping[str, str], console: Console) -> None:
    """Print the tables of a leaderboard.

    Args:
        board: what `compare_runs` returns.
        states: how each run ended, by its name; empty for runs of no grid.
        console: where to.
    """
    for table in make_tables(board, states, console):
        if not _fits(table, console):
            table.padding = (0, 1, 0, 0)
        console.print(table)


def make_tables(board: Report, states: Mapping[str, str], console: Console) -> list[Table]:
    """The tables of a leaderboard for a terminal; arguments as in `print_tables`."""
    rows = board.numbers["rows"]
    labels = []
    for place, name in enumerate(board.numbers["factors"] or ["run"]):
        levels = [row["levels"][place] for row in rows]
        short = shorten_all(levels, _LONGEST_LEVEL)
        labels.append([name, *(short[level] for level in levels)])
    # A partial run has its counts here; another has the state in its grid ("reused"), if it is of one.
    ended = [row["label"] if row["state"] == PARTIAL else states.get(row["name"], row["state"]) for row in rows]
    state = ["state", *map(str, ended)]
    metrics: list[str] = board.numbers["metrics"]
    blocks = {measure: _make_columns(rows, measure) for measure in metrics}
    title = f"Leaderboard, best {metrics[0]} first" if metrics else "Leaderboard"
    table = _make_table(title, labels, [*(column for block in blocks.values() for column in block), state])
    if len(metrics) < 2 or _fits(table, console):
        return [table]
    first, *others = metrics
    return [
        _make_table(title, labels, [*blocks[first], state]),
        *(_make_table(f"{name}, in the same order", labels, blocks[name]) for name in others),
    ]


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


def _make_table(title: str, labels: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1))
    for heading, *_ in labels:
        table.add_column(heading, overflow="fold")
    for heading, *_ in columns:
        text = heading == "state"
        table.add_column(heading, justify="left" if text else "right", overflow="fold", no_wrap=not text)
    for cells in zip(*(column[1:] for column in (*labels, *columns)), strict=True):
        table.add_row(*cells, style=_choose_style(cells[-1]) if columns[-1][0] == "state" else None)
    return table


def _fits(table: Table, console: Console) -> bool:
    unlimited = console.options.update(width=10_000)
    return console.measure(table, options=unlimited).maximum <= console.width


def _choose_style(label: str) -> str | None:
    if label in (OK, "reused"):
        return None
    return "yellow" if label.startswith(PARTIAL) else "red"
