"""How figures look: black and white is enough to read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.unicode_minus": False,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
    "hatch.linewidth": 0.6,
}

MARKERS = "os^DvPX<>*"
LINES = ["-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3))]
SHADES = ["black", "white", "0.6", "0.85"]
"""Of what fills a marker; its edge is always black."""


def short(text: str, length: int = 22) -> str:
    """A level for an axis: of a path the last part, and of that no more than fits."""
    text = text.rstrip("/").rpartition("/")[2] or text
    return text if len(text) <= length else f"{text[: length - 3]}..."


def titled(parts: Sequence[str]) -> str:
    """Parts of a title, a comma between them."""
    return ", ".join(part for part in parts if part)
