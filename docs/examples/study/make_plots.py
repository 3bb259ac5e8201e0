"""Draw the plot of the paper: the scores of each system with their 95 % intervals, as PDF and PNG.

python make_plots.py grid results
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

MEASURE = "nDCG@5"
BY = "rewriter"  # a row for each; the best cell stands for several


def main(grid: Path, results: Path) -> None:
    """Read grid/leaderboard.csv and write intervals.pdf and intervals.png."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    board = pd.read_csv(grid / "leaderboard.csv")
    rows = board.sort_values(MEASURE).drop_duplicates(BY, keep="last")
    around = [rows[MEASURE] - rows[f"{MEASURE}_low"], rows[f"{MEASURE}_high"] - rows[MEASURE]]
    figure, axes = plt.subplots(figsize=(5, 0.5 + 0.4 * len(rows)), layout="constrained")
    axes.errorbar(rows[MEASURE], rows[BY], xerr=around, fmt="o", capsize=3)
    axes.set(xlabel=f"{MEASURE}, with 95 % intervals")
    axes.grid(axis="x", alpha=0.3)
    results.mkdir(exist_ok=True)
    for kind in ("pdf", "png"):
        figure.savefig(results / f"intervals.{kind}", dpi=200)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
