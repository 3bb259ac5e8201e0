"""The style of plots, also for black and white; drawing needs convrag[plots]."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
