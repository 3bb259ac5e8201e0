"""Tables as Markdown and CSV and on a terminal, and how numbers and names are formatted in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convrag import Report
from convrag.sdk.output.printable import format_table
from convrag_compare.run_result import OK, PARTIAL

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        heading: the name of each column.
        rows: the cells, as many in a row as there are columns.
        names: how many columns, from the left, are words; the others are numbers, and aligned to
            the right.
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def markdown(self) -> str:
        """The table in GitHub's Markdown."""
        return "\n".join(format_table([self.heading, *self.rows], names=self.names))

    def csv(self) -> str:
        """The table as comma-separated values (RFC 4180)."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows([self.heading, *self.rows])
        return text.getvalue()


def format_number(value: float, digits: int = 3) -> str:
    """A number with so many digits after the point; an empty text for NaN."""
    if value != value:
        return ""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def format_signed(value: float, digits: int = 3) -> str:
    """A number with its sign, for differences."""
    text = format_number(value, digits)
    return f"+{text}" if text and float(text) > 0 else text


def format_interval(low: float, high: float, *, sign: bool = False) -> str:
    """An interval as `[0.311, 0.402]`; an empty text for NaN."""
    show = format_signed if sign else format_number
    return f"[{show(low)}, {show(high)}]" if low == low else ""


def format_p(p: float) -> str:
    """A p-value with four digits: 20,000 sign flips give no more."""
    return "<0.0001" if p < 0.00005 else format_number(p, 4)


def format_exact(value: float) -> str:
    """A number for programs to read: the shortest text that gives it back; an empty text for NaN."""
    return "" if value != value else repr(float(value))


_LONGEST_LEVEL = 32


def shorten(text: str, length: int = 22) -> str:
    """A level as a label: the last part of a path, cut to so many characters."""
    return _cut(text.rstrip("/").rpartition("/")[2] or text, length)


def shorten_all(texts: Sequence[str], length: int = 22) -> dict[str, str]:
    """Each level with its label, as `shorten` makes them, but all different: `a/corpus`,
    `b/corpus`.
    """
    distinct = list(dict.fromkeys(texts))
    for depth in range(1, 4):
        labels = [
            _cut("/".join(text.rstrip("/").split("/")[-depth:]) or text, length)
            for text in distinct
        ]
        if len(set(labels)) == len(distinct):
            return dict(zip(distinct, labels, strict=True))
    return {
        text: f"{shorten(text, length - 4)} #{number}" for number, text in enumerate(distinct, 1)
    }


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


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


def make_tables(board: Report, states: Mapping[str, str], console: Console) -> list[RichTable]:
    """The tables of a leaderboard for a terminal; arguments as in `print_tables`."""
    rows = board.numbers["rows"]
    labels = []
    for place, name in enumerate(board.numbers["factors"] or ["run"]):
        levels = [row["levels"][place] for row in rows]
        short = shorten_all(levels, _LONGEST_LEVEL)
        labels.append([name, *(short[level] for level in levels)])
    # A partial run has its counts here; another has the state in its grid ("reused"), if it is of
    # one.
    ended = [
        row["label"] if row["state"] == PARTIAL else states.get(row["name"], row["state"])
        for row in rows
    ]
    state = ["state", *map(str, ended)]
    metrics: list[str] = board.numbers["metrics"]
    blocks = {measure: _make_columns(rows, measure) for measure in metrics}
    title = f"Leaderboard, best {metrics[0]} first" if metrics else "Leaderboard"
    table = _make_table(
        title, labels, [*(column for block in blocks.values() for column in block), state]
    )
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


def _make_table(
    title: str, labels: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]
) -> RichTable:
    from rich.table import Table as RichTable

    table = RichTable(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1))
    for heading, *_ in labels:
        table.add_column(heading, overflow="fold")
    for heading, *_ in columns:
        text = heading == "state"
        table.add_column(
            heading, justify="left" if text else "right", overflow="fold", no_wrap=not text
        )
    for cells in zip(*(column[1:] for column in (*labels, *columns)), strict=True):
        table.add_row(*cells, style=_choose_style(cells[-1]) if columns[-1][0] == "state" else None)
    return table


def _fits(table: RichTable, console: Console) -> bool:
    unlimited = console.options.update(width=10_000)
    return console.measure(table, options=unlimited).maximum <= console.width


def _choose_style(label: str) -> str | None:
    if label in (OK, "reused"):
        return None
    return "yellow" if label.startswith(PARTIAL) else "red"
