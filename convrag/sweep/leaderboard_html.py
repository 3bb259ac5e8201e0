"""The leaderboard of a grid, as a notebook shows it: the compared measures, with what chance leaves open."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path

from convrag.api.html import format_bold, format_table, format_text

LEADERBOARD_FILE = "leaderboard.csv"
_SIGNIFICANT = 0.05
_NOTE = (
    "Best first; the best score is bold. In brackets: 95 % interval. Difference: to the baseline, bold where its p, "
    "corrected by Holm's method, is below 0.05."
)

Row = Mapping[str, str]


def read_leaderboard(folder: Path) -> list[Row]:
    """Read the rows of a grid's leaderboard.csv, best first; none where it is not there yet, or is damaged."""
    try:
        with (folder / LEADERBOARD_FILE).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    whole = all(None not in row and None not in row.values() for row in rows)
    return list(rows) if whole and rows and "state" in rows[0] else []


def format_leaderboard(rows: Sequence[Row]) -> str:
    """Format the leaderboard: the factors, then score, difference and p of each compared measure."""
    columns = list(rows[0])
    factors = columns[: columns.index("state")]
    measures = [name for name in columns if f"{name}_p_holm" in columns]
    best = {measure: max(map(_to_number, (row[measure] for row in rows))) for measure in measures}
    head = [*factors, *(part for measure in measures for part in (measure, "Difference", "p (Holm)"))]
    body = []
    for row in rows:
        scores = (cell for each in measures for cell in _format_score(row, each, best[each]))
        body.append([*(row[each] for each in factors), *scores])
    return f"{format_table(head, body, names=len(factors))}<small>{format_text(_NOTE)}</small>"


def _format_score(row: Row, measure: str, best: float) -> tuple[str, str, str]:
    """Score with interval, difference to the baseline, and p; what the leaderboard lacks is left out."""
    score = _format(row[measure], ".3f")
    low, high = (_format(row.get(f"{measure}_{end}", ""), ".3f") for end in ("low", "high"))
    shown = f"{score} [{low}, {high}]" if low and high else score
    difference = _format(row.get(f"{measure}_difference", ""), "+.3f")
    p = row[f"{measure}_p_holm"]
    significant = 0 <= _to_number(p) < _SIGNIFICANT
    return (
        format_bold(shown) if score and _to_number(row[measure]) == best else shown,
        format_bold(difference) if significant else difference,
        _format(p, ".4f"),
    )


def _format(text: str, spec: str) -> str:
    return text if _to_number(text) == -inf else format(float(text), spec)


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -inf
