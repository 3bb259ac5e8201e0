"""The tables of a leaderboard on a terminal, one or several by its width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag import Report
from convrag_compare.run_result import OK, PARTIAL
from convrag_compare.tables import format_interval, format_number, shorten_all

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LONGEST_LEVEL = 32

Column = list[str]
"""A column of a table: its heading, then its cells."""


def print_tables(board: Report, states: Mapping[str, str], console: Console) -> None:
    """Print the tables of a leaderboard.

    Args:
        board: the report that `compare_runs` returned.
        states: how each run ended, by its name; empty for runs that do not belong to a grid.
        console: the console to print to.
    """
    for table in make_tables(board, states, console):
        if not _fits(table, console):
            table.padding = (0, 1, 0, 0)
        console.print(table)


def make_tables(board: Report, states: Mapping[str, str], console: Console) -> list[Table]:
    """Make one table of all measures, or one for each where that is too wide for the console.

    The arguments are those of `print_tables`.
    """
    rows = board.numbers["rows"]
    metrics: list[str] = board.numbers["metrics"]
    labels = _make_label_columns(rows, board.numbers["factors"])
    state = ["state", *(_describe_state(row, states) for row in rows)]
    by_measure = {measure: _make_measure_columns(rows, measure) for measure in metrics}
    every_measure = [column for columns in by_measure.values() for column in columns]
    title = f"Leaderboard, best {metrics[0]} first" if metrics else "Leaderboard"
    table = _make_table(title, labels, [*every_measure, state])
    if len(metrics) < 2 or _fits(table, console):
        return [table]
    first, *others = metrics
    tables = [_make_table(title, labels, [*by_measure[first], state])]
    tables += [
        _make_table(f"{name}, in the same order", labels, by_measure[name]) for name in others
    ]
    return tables


def _make_label_columns(rows: Sequence[Mapping[str, Any]], factors: Sequence[str]) -> list[Column]:
    """Make the columns that identify the runs: their levels, or their names without factors."""
    columns = []
    for place, name in enumerate(factors or ["run"]):
        levels = [row["levels"][place] for row in rows]
        labels = shorten_all(levels, _LONGEST_LEVEL)
        columns.append([name, *(labels[level] for level in levels)])
    return columns


def _describe_state(row: Mapping[str, Any], states: Mapping[str, str]) -> str:
    """Describe how a run ended: a partial one with counts, others by their state in the grid."""
    if row["state"] == PARTIAL:
        return str(row["label"])
    return str(states.get(row["name"], row["state"]))


def _make_measure_columns(rows: Sequence[Mapping[str, Any]], measure: str) -> list[Column]:
    """Make the columns of a measure; columns without any value are left out."""
    scores = [row["compared"][measure] for row in rows]
    columns = [
        [measure, *(format_number(score["mean"]) for score in scores)],
        ["95 %", *(format_interval(score["low"], score["high"]) for score in scores)],
        ["difference", *(score["difference"] for score in scores)],
        ["p (Holm)", *(score["p"] for score in scores)],
    ]
    return [column for column in columns if not set(column[1:]) <= {"", "baseline"}]


def _make_table(title: str, labels: Sequence[Column], columns: Sequence[Column]) -> Table:
    """Make a table: labels and the state are aligned to the left, numbers to the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1))
    for heading, *_ in labels:
        table.add_column(heading, overflow="fold")
    has_state = False
    for heading, *_ in columns:
        if heading == "state":
            has_state = True
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", overflow="fold", no_wrap=True)
    for cells in zip(*(column[1:] for column in (*labels, *columns)), strict=True):
        style = _choose_style(cells[-1]) if has_state else None
        table.add_row(*cells, style=style)
    return table


def _fits(table: Table, console: Console) -> bool:
    unlimited = console.options.update(width=10_000)
    return console.measure(table, options=unlimited).maximum <= console.width


def _choose_style(state: str) -> str | None:
    if state in (OK, "reused"):
        return None
    return "yellow" if state.startswith(PARTIAL) else "red"
