"""Plots of the page: horizontal bars, one file for each part that has a `list_bars`."""

from dataclasses import dataclass
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs/images"


@dataclass(frozen=True)
class Bars:
    """One plot.

    Args:
        title: what is shown, with its unit.
        values: name -> value; names that begin with "convrag" are drawn dark.
    """

    title: str
    values: dict[str, float]


def name_plot(part: str) -> str:
    """The file's name in docs/images."""
    return f"benchmarks_{part}.svg"


def draw_bars(part: str, bars: Bars) -> None:
    """Draw the smallest value at the top, on a logarithmic axis where they differ a hundredfold."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = part  # the same bytes for the same values
    rows = sorted(bars.values.items(), key=lambda row: -row[1])
    names, values = [name.replace("`", "") for name, _ in rows], [value for _, value in rows]
    figure, axes = plt.subplots(figsize=(7, 0.8 + 0.3 * len(rows)), layout="constrained")
    drawn = axes.barh(
        names,
        values,
        color=["#1f4e79" if name.startswith("convrag") else "#a9b8c6" for name in names],
    )
    axes.bar_label(drawn, fmt=lambda value: f"{value:.3g}", padding=3)
    if max(values) > 100 * min(values):
        axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.set_title(bars.title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / name_plot(part), metadata={"Date": None})
    plt.close(figure)
