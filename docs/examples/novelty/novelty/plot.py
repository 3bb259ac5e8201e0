"""A curve as SVG text, the same for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO


def draw_curve(points: Mapping[int, float], x: str, y: str) -> str:
    """Draw values by whole numbers, with names for both axes; return the SVG file's text."""
    from matplotlib import rc_context
    from matplotlib.figure import (
        Figure,  # pyplot would keep each figure, and is not made for threads
    )

    with rc_context({"svg.hashsalt": "novelty", "svg.fonttype": "none"}):
        axes = Figure(figsize=(6, 3.5)).add_subplot()
        axes.plot(list(points), list(points.values()), marker="o", color="black")
        axes.set(xlabel=x, ylabel=y, ylim=(0, 1))
        axes.xaxis.get_major_locator().set_params(integer=True)
        text = StringIO()
        axes.figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
