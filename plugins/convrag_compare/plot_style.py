"""How plots look, which can be read in black and white: style, labels of points, and names of runs.

Runs with the same score in every turn are shown once: `none = last_n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from convrag_compare.factors import get_level
from convrag_compare.leaderboard import Leaderboard, Row
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

_NAMED = 3
"""Of more equal runs, so many are named."""

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
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


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

    figure: Any = axes.figure
    fix_layout(figure)
    style: dict[str, Any] = {"fontsize": 8.5, "zorder": 4}
    style["path_effects"] = [withStroke(linewidth=2, foreground="white")]
    style |= {"ha": "left", "va": "bottom"} if beside else {"ha": "center", "va": "center"}
    texts = [axes.text(x, y, text, **style) for x, y, text in labels]
    adjust_text(
        texts,
        [x for x, _ in points],
        [y for _, y in points],
        ax=axes,
        target_x=[x for x, _, _ in labels],
        target_y=[y for _, y, _ in labels],
        iter_lim=_ADJUSTMENTS,
        expand=(1.08, 1.25),
        force_text=(0.2, 0.4),
        force_static=(0.4, 0.6),
        min_arrow_len=12,
        arrowprops={"arrowstyle": "-", "color": "0.5", "lw": 0.6, "shrinkB": MARKER_SIZE / 2},
    )


def join_equal_rows(rows: Sequence[Row], measure: str) -> list[list[Row]]:
    """The rows in groups with the same value of a measure in every turn, in the order of their first rows."""
    groups: dict[tuple[tuple[str, ...], bytes, float, str], list[Row]] = {}
    for row in rows:
        scores = row.result.scores
        column = scores.measures.get(measure)
        values = column.tobytes() if column is not None else b""
        same = tuple(scores.turns), values, row.scores[measure].mean, row.result.state
        groups.setdefault(same, []).append(row)
    return list(groups.values())


def name_rows(board: Leaderboard, rows: Sequence[Row], length: int = 18) -> list[str]:
    """What a plot calls equal runs, a text for each factor: [`condense`, `lsa = kmeans`].

    Equal runs that are not all combinations of some levels have their names in one text: [`none lsa = last_n kmeans`].
    """
    short = {factor: shorten_all(levels, length) for factor, levels in board.factors.items()}
    labels = [[short[factor][get_level(row.result, factor)] for factor in board.factors] for row in rows]
    if not board.factors:
        return [join_names([row.result.name for row in rows])]
    levels = [list(dict.fromkeys(column)) for column in zip(*labels, strict=True)]
    if prod(map(len, levels)) == len({tuple(each) for each in labels}):
        return [join_names(names) for names in levels]
    return [join_names([" ".join(each) for each in labels])]


def join_names(names: Sequence[str], separator: str = " = ") -> str:
    """The names of equal things as one text: `none = last_n`; of more than three, `a = b = c = 2 more`."""
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - _NAMED
    shown = distinct if more <= 0 else [*distinct[:_NAMED], f"{more} more"]
    return separator.join(shown)
