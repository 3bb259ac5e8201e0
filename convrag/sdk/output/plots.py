"""The style of plots, also for black and white; drawing needs convrag[plots]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from convrag.store.files import open_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.unicode_minus": False,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "text.parse_math": False,
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "convrag",  # the same plot is the same bytes
}
"""For `matplotlib.rc_context`."""


def make_figure(width: float, height: float) -> Figure:
    """Make a figure of at least 4.6 by 2.6 inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(width, 4.6), max(height, 2.6)))
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure to a file, whole or not at all, in the format of its suffix: .png or .svg."""
    kind = path.suffix.removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else None  # the same figure is the same bytes
    with open_atomically(path, "wb") as file:
        figure.savefig(file, format=kind, metadata=metadata)
