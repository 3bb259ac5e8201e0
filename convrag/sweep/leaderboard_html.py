"""The leaderboard of a grid as a table for notebooks, read from its leaderboard.csv."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from convrag.api.printable import Html, format_table, format_text

LEADERBOARD = "leaderboard.csv"

_STATE = "state"
"""The first column after those that identify a run."""

_SIGNIFICANT = 0.05

Row = Mapping[str, str]


def format_leaderboard(folder: Path) -> Html:
    """Format the leaderboard of a grid's folder as HTML; empty if it has none that can be read.

    The best mean of a measure is bold, and so is a difference to the baseline with p < 0.05
    (corrected by Holm's method).
    """
    try:
        with (folder / LEADERBOARD).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, restval="")
            rows: list[Row] = list(reader)
            columns = list(reader.fieldnames or ())
    except (OSError, ValueError, csv.Error):
        return Html("")
    if not rows or _STATE not in columns:
        return Html("")
    factors = columns[: columns.index(_STATE)]
    measures = _list_compared(columns)
    with_baseline = [name for name in measures if any(row[f"{name}_difference"] for row in rows)]
    best = {measure: max(_read_numbers(rows, measure), default=0.0) for measure in measures}
    head = list(factors)
    for measure in measures:
        head.append(f"{measure} [95 %]")
        if measure in with_baseline:
            head += ["to baseline", "p (Holm)"]
    lines = []
    for row in rows:
        cells: list[str] = [row[factor] for factor in factors]
        for measure in measures:
            cells.append(_format_mean(row, measure, best[measure]))
            if measure in with_baseline:
                cells += _format_difference(row, measure)
        lines.append([*cells, row[_STATE]])
    return format_table([*head, _STATE], lines)


def _list_compared(columns: Sequence[str]) -> list[str]:
    """List the measures by which runs are compared: those with an interval and a difference."""
    needed = ("", "_low", "_high", "_difference", "_p_holm")
    return [name for name in columns if all(f"{name}{suffix}" in columns for suffix in needed)]


def _read_numbers(rows: Sequence[Row], column: str) -> list[float]:
    numbers = [_read_number(row[column]) for row in rows]
    return [number for number in numbers if number is not None]


def _read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _format_mean(row: Row, measure: str, best: float) -> str:
    mean = _read_number(row[measure])
    if mean is None:
        return ""
    text = f"{mean:.3f}"
    low = _read_number(row[f"{measure}_low"])
    high = _read_number(row[f"{measure}_high"])
    if low is not None and high is not None:
        text += f" [{low:.3f}, {high:.3f}]"
    return _format_bold(text) if mean == best else text


def _format_difference(row: Row, measure: str) -> list[str]:
    """Format the difference to the baseline, and its p-value."""
    difference = _read_number(row[f"{measure}_difference"])
    p = _read_number(row[f"{measure}_p_holm"])
    if difference is None:
        return ["", ""]
    text = f"{difference:+.3f}"
    if p is None:
        return [text, ""]
    return [_format_bold(text) if p < _SIGNIFICANT else text, f"{p:.4f}"]


def _format_bold(text: str) -> Html:
    return Html(f"<b>{format_text(text)}</b>")
