"""Make the tables of the paper from the leaderboard of a grid: table.md and table.tex.

    python make_tables.py grid results

The best score of a column is bold. A dagger marks a difference to the baseline with p < 0.05
(Holm).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

MEASURES = ["nDCG@5", "ROUGE-L"]  # the columns of the table, of those that the grid compares
SIGNIFICANT = 0.05


def format_cells(board: pd.DataFrame, measure: str, bold: str, dagger: str) -> list[str]:
    """Format the scores of a measure; `bold` has a place {} for the text."""
    best = board[measure].max()
    cells = []
    for score, p in zip(board[measure], board[f"{measure}_p_holm"], strict=True):
        text = bold.format(f"{score:.3f}") if score == best else f"{score:.3f}"
        cells.append(f"{text}{dagger}" if p < SIGNIFICANT else text)
    return cells


def make_rows(board: pd.DataFrame, bold: str, dagger: str) -> list[list[str]]:
    """Make the heading and a row for each system, best first."""
    factors = list(board.columns[: board.columns.get_loc("state")])
    measures = [measure for measure in MEASURES if f"{measure}_p_holm" in board]
    columns = [board[factor].astype(str) for factor in factors]
    columns += [format_cells(board, measure, bold, dagger) for measure in measures]
    return [[*factors, *measures], *(list(row) for row in zip(*columns, strict=True))]


def format_markdown(board: pd.DataFrame) -> str:
    """Format the table in Markdown."""
    head, *rows = make_rows(board, "**{}**", "†")
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def format_latex(board: pd.DataFrame) -> str:
    """Format the table in LaTeX, for the package booktabs."""
    rows = make_rows(board, r"\textbf{{{}}}", r"$^\dagger$")
    head, *body = (" & ".join(cell.replace("_", r"\_") for cell in row) + r" \\" for row in rows)
    lines = [rf"\begin{{tabular}}{{{'l' * len(rows[0])}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def main(grid: Path, results: Path) -> None:
    """Read grid/leaderboard.csv and write both tables."""
    board = pd.read_csv(grid / "leaderboard.csv")
    results.mkdir(exist_ok=True)
    (results / "table.md").write_text(format_markdown(board), encoding="utf-8")
    (results / "table.tex").write_text(format_latex(board), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
