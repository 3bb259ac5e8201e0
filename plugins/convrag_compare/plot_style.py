"""How plots look, which can be read in black and white, and where the labels of points go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convrag_compare.run_result import PARTIAL, RunResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.unicode_minus": False,
    "legend.fontsize": 9,
    "text.parse_math": False,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
    "hatch.linewidth": 0.6,
    "hatch.color": "0.75",
    "svg.hashsalt": "convrag",  # the same plot is the same bytes
}

MARKERS = "os^DvPX<>*"
SHADES = ["black", "white", "0.6", "0.85"]
"""The fill of a marker; its edge is always black."""

MARKER_SIZE = 7  # points of 1/72 inch

_ADJUSTMENTS = 100  # a limit in steps, because one in seconds would make the plot depend on the machine's speed


def shorten(text: str, length: int = 22) -> str:
    """A level as a label: the last part of a path, cut to so many characters."""
    return _cut(text.rstrip("/").rpartition("/")[2] or text, length)


def shorten_all(texts: Sequence[str], length: int = 22) -> dict[str, str]:
    """Each level with its label, as `shorten` makes them, but all different: `a/corpus`, `b/corpus`."""
    distinct = list(dict.fromkeys(texts))
    for depth in range(1, 4):
        labels = [_cut("/".join(text.rstrip("/").split("/")[-depth:]) or text, length) for text in distinct]
        if len(set(labels)) == len(distinct):
            return dict(zip(distinct, labels, strict=True))
    return {text: f"{shorten(text, length - 4)} #{number}" for number, text in enumerate(distinct, 1)}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


def join_title(parts: Sequence[str]) -> str:
    """The parts of a title with commas between them; empty parts are left out."""
    return ", ".join(part for part in parts if part)


def mark_partial(runs: Sequence[RunResult]) -> str:
    """What stands after a score: an asterisk if one of its runs is partial."""
    return "*" if any(run.state == PARTIAL for run in runs) else ""


def explain_mark(runs: Sequence[RunResult]) -> list[str]:
    """What a title says of the asterisk, where there is one."""
    return ["* partial"] if mark_partial(runs) else []


def use_log_scale(axes: Axes) -> None:
    """A logarithmic x axis with plain numbers at its ticks (`1,000`), where matplotlib would write formulas."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def fix_layout(figure: Figure) -> None:
    """Compute where the parts of a figure go, once for all its files; without this each file is drawn twice."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if figure.get_layout_engine() is None:
        return
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    with rc_context({"figure.constrained_layout.use": False}):  # where it is used, None stands for it
        figure.set_layout_engine(None)


def label_points(
    axes: Axes,
    labels: Sequence[tuple[float, float, str]],
    points: Sequence[tuple[float, float]],
    *,
    beside: bool = False,
) -> None:
    """Write each label beside its point, with a thin line to it where the label had to move away.

    The layout of the figure is fixed first, and the limits of the axes must be: the free space depends on both.

    Args:
        axes: where the points are drawn.
        labels: (x, y, text) of each point that has a label, in data coordinates.
        points: (x, y) of all points, which labels keep away from.
        beside: look for a place from the upper right of the point, and not from its centre. That suits short labels of
            many points, some of which lie so close together that a label between them would be pushed by both.
    """
    from adjustText import adjust_text
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    figure: Any = axes.figure
    fix_layout(figure)
    radius = (MARKER_SIZE / 2 + 1.5) * figure.dpi / 72
    to_data = axes.transData.inverted()
    markers = [
        Bbox(to_data.transform([(x - radius, y - radius), (x + radius, y + radius)]))
        for x, y in axes.transData.transform(points)
    ]
    halo = [withStroke(linewidth=2, foreground="white")]
    texts = []
    aligned: dict[str, Any] = {"ha": "left", "va": "bottom"} if beside else {"ha": "center", "va": "center"}
    for x, y, text in labels:
        start_x, start_y = to_data.transform(axes.transData.transform((x, y)) + (radius if beside else 0))
        texts.append(axes.text(start_x, start_y, text, fontsize=8.5, path_effects=halo, zorder=4, **aligned))
    adjust_text(
        texts,
        ax=axes,
        objects=markers,
        target_x=[x for x, _, _ in labels],
        target_y=[y for _, y, _ in labels],
        iter_lim=_ADJUSTMENTS,
        expand=(1.08, 1.25),
        force_text=(0.2, 0.4),
        force_static=(0.4, 0.6),
        min_arrow_len=12,
        arrowprops={"arrowstyle": "-", "color": "0.5", "lw": 0.6, "shrinkB": MARKER_SIZE / 2},
    )
