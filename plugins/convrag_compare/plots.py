"""The plots of a comparison, also for black and white: heat maps, quality against cost and latency,
and by turn.

Runs with the same score in every turn are one point, or one curve: `none = last_n`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise, product
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.sdk.files import open_atomically, write_atomically
from convrag.sdk.identity import digest
from convrag.sdk.output.plots import STYLE, make_figure
from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.run_result import PARTIAL, Scores, get_level, get_levels
from convrag_compare.tables import format_number, shorten, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_MOST_HEAT_MAPS = 48
"""Where all compared measures together would need more, only the first of them has heat maps."""
_LISTED = 30
"""So many runs of a scatter plot are listed: the best ones, besides all that are on the Pareto
front.
"""
# A limit in steps, because one in seconds would make the plot depend on the machine's speed
_ADJUSTMENTS = 100
_PANELS = 12
_COLUMNS = 4
_NAMED = 3
"""Of more equal runs, so many are named."""
_KINDS = ("png", "svg")
_DRAWN = ".plots"
"""The file that says which plots were drawn, and from what."""


def draw_plots(board: Leaderboard, folder: Path) -> list[str]:
    """Draw the plots of the compared measures by which runs differ, as PNG and SVG files in the
    folder.

    Those of an earlier report take their place, and stay where they were drawn from the same.

    Returns:
        Remarks for the report; one says so where a library is not installed.
    """
    drawn, names = (
        folder / _DRAWN,
        [digest([repr(asdict(board)), STYLE, Path(__file__).read_text("utf-8")])],
    )
    before = drawn.read_text("utf-8", "replace").splitlines() if drawn.exists() else []
    if before[:1] == names and all((folder / name).is_file() for name in before[1:]):
        return []
    for pattern in (
        *(f"{plot}*.{kind}" for plot in ("heat_", "quality_", "turns") for kind in _KINDS),
        _DRAWN,
    ):
        for old in folder.glob(pattern):
            old.unlink()
    if not board.metrics:
        return []
    if missing := [name for name in ("matplotlib", "adjustText") if not find_spec(name)]:
        return [
            f"No plots were drawn: {missing[0]} is not installed (pip install 'convrag[plots]')."
        ]
    from matplotlib import rc_context

    with rc_context(STYLE):
        for name, figure in _draw_figures(board):
            file_name = "".join(
                sign if sign.isalnum() or sign in "@=._-" else "-" for sign in name
            )[:120]
            for kind in _KINDS:
                names.append(f"{file_name}.{kind}")
                with open_atomically(folder / f"{file_name}.{kind}", "wb") as file:
                    figure.savefig(
                        file, format=kind, metadata={"Date": None} if kind == "svg" else None
                    )
    write_atomically(drawn, "\n".join(names))
    return []


def _draw_figures(board: Leaderboard) -> Iterator[tuple[str, Figure]]:
    """Each figure with its name."""
    differing = board.list_differing()
    if board.factors:
        combinations = {measure: list_combinations(board, measure) for measure in differing}
        few = sum(map(len, combinations.values())) <= _MOST_HEAT_MAPS
        for measure in differing if few else differing[:1]:
            for combination in combinations[measure]:
                name = "_".join(
                    [f"heat_{measure}", *(f"{key}={value}" for key, value in combination.items())]
                )
                yield name, draw_heat_map(board, measure, combination)
    for measure in differing:
        if has_costs(board):
            yield f"quality_cost_{measure}", draw_cost(board, measure)
        yield f"quality_latency_{measure}", draw_latency(board, measure)
        if curves := make_curves(board, measure):
            yield f"turns_{measure}", draw_turns(board, measure, curves)


def _set_frame(axes: Axes, x: str, y: str, title: Sequence[str], rows: Sequence[Row]) -> None:
    """The labels and the title of a plot. The title explains the asterisk of partial runs."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(", ".join([*title, *(["* partial"] if _mark_partial(rows) else [])]))


def _mark_partial(rows: Sequence[Row]) -> str:
    return "*" if any(row.result.state == PARTIAL for row in rows) else ""


def join_equal_rows(
    board: Leaderboard, measure: str, x_of: Callable[[Row], float] | None = None
) -> list[tuple[str, Row]]:
    """The runs with a score by a measure, best first, each with its name. Equal ones are the first
    of them.

    Args:
        board: the runs.
        measure: equal runs have the same value of it in every turn,
        x_of: and the same value of this, if it is given.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    scored = [row for row in board.rows if row.scores[measure].mean == row.scores[measure].mean]
    for row in sorted(scored, key=lambda row: -row.scores[measure].mean):
        values = row.result.scores.measures.get(measure)
        column = values.tobytes() if values is not None else row.scores[measure].mean
        same = tuple(row.result.scores.turns), column, row.result.state, x_of(row) if x_of else None
        groups.setdefault(same, []).append(row)
    short = {factor: shorten_all(levels, 18) for factor, levels in board.factors.items()}
    named = []
    for rows in groups.values():
        levels = [
            [short[factor][get_level(row.result, factor)] for factor in short]
            for row in rows[:_NAMED]
        ]
        names = [" ".join(each) or row.result.name for each, row in zip(levels, rows, strict=False)]
        more = [f"{len(rows) - _NAMED} more"] if len(rows) > _NAMED else []
        named.append((" = ".join([*names, *more]), rows[0]))
    return named


# Heat maps: one measure over two factors, with everything else equal
# ----------------------------------------------


def _list_moving_factors(board: Leaderboard, measure: str) -> list[str]:
    """The factors that move a measure; all where none does. One in which no two runs differ alone
    counts, too.
    """
    moving = [name for name in board.factors if measure not in board.movements[name].unmoved]
    return moving or list(board.factors)


def choose_axes(board: Leaderboard, measure: str) -> tuple[str, str]:
    """The factors of the rows and of the columns: rewriter and ranker, else the two with the most
    levels.

    Only factors that move the measure count. The second is empty where there is but one.
    """
    moving = _list_moving_factors(board, measure)
    if "rewriter" in moving and "ranker" in moving:
        return "rewriter", "ranker"
    widest = sorted(moving, key=lambda name: -len(board.factors[name]))[:2]
    down, *across = sorted(widest, key=moving.index)
    return down, across[0] if across else ""


def list_combinations(board: Leaderboard, measure: str) -> list[dict[str, str]]:
    """The combinations of levels of all other factors that move the measure; each has a heat map of
    its own.
    """
    others = [
        name
        for name in _list_moving_factors(board, measure)
        if name not in choose_axes(board, measure)
    ]
    found = {get_levels(row.result, others) for row in board.rows}
    every = product(*(board.factors[name] for name in others))
    return [dict(zip(others, each, strict=True)) for each in every if each in found]


def draw_heat_map(board: Leaderboard, measure: str, combination: Mapping[str, str]) -> Figure:
    """Draw the heat map of a measure for one combination of the other factors.

    All heat maps of a measure have the same scale of colours. The best value is bold, and so is
    each that is printed alike; one of a partial run has an asterisk.
    """
    down, across = choose_axes(board, measure)
    rows, columns = board.factors[down], board.factors.get(across, [""])
    scored = [row for row in board.rows if measure in row.result.overall]
    means = [row.result.overall[measure] for row in scored]
    values = np.full((len(rows), len(columns)), np.nan)
    marks: dict[tuple[int, int], str] = {}
    for place in np.ndindex(values.shape):
        wanted = {
            **combination,
            down: rows[place[0]],
            **({across: columns[place[1]]} if across else {}),
        }
        found = [
            row
            for row in scored
            if all(get_level(row.result, key) == wanted[key] for key in wanted)
        ]
        if found:
            values[place] = fmean(row.result.overall[measure] for row in found)
        marks[place] = _mark_partial(found)
    labels, above = list(shorten_all(rows).values()), list(shorten_all(columns).values())
    figure = make_figure(
        2.4 + 0.085 * max(map(len, labels)) + 1.15 * len(columns), 2.0 + 0.5 * len(rows)
    )
    axes = figure.add_subplot()
    image = axes.imshow(
        values, cmap="Blues", vmin=min(means, default=0), vmax=max(means, default=1), aspect="auto"
    )
    best = format_number(np.nanmax(values)) if marks and not np.isnan(values).all() else ""
    for (y, x), mark in marks.items():
        text = format_number(values[y, x])
        ink = "white" if text and image.norm(values[y, x]) > 0.6 else "black"
        weight = "bold" if text and text == best else "normal"
        axes.text(
            x, y, f"{text}{mark}" or "no score", ha="center", va="center", color=ink, weight=weight
        )
    long = max(map(len, above)) > 13
    axes.set_xticks(
        range(len(above)), above, rotation=30 if long else 0, ha="right" if long else "center"
    )
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(length=0)
    if len(set(means)) > 1:
        figure.colorbar(image, ax=axes, label=measure)
    fixed = [f"{key} = {shorten(value)}" for key, value in combination.items()]
    moving = _list_moving_factors(board, measure)
    fixed += [f"any {name}" for name in board.factors if name not in moving]
    _set_frame(axes, across, down, [measure, *fixed], scored)
    return figure


# Scatter plots: a measure against cost and latency, a point for each run
# ------------------------------------------


def has_costs(board: Leaderboard) -> bool:
    """Whether anything was paid, or any token was used."""
    return any(row.result.usage.cost_usd or row.result.usage.tokens for row in board.rows)


def draw_cost(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure against dollars, or tokens where no run cost anything, per 1,000 turns."""
    paid = any(row.result.usage.cost_usd for row in board.rows)

    def spend(row: Row) -> float:
        return row.result.per_thousand_turns(
            row.result.usage.cost_usd if paid else row.result.usage.tokens
        )

    meaning = "$" if paid else "prompt and completion tokens"
    return _draw_scatter(
        board, measure, "cost" if paid else "tokens", f"{meaning} per 1,000 turns", spend
    )


def draw_latency(board: Leaderboard, measure: str) -> Figure:
    """Draw a measure against milliseconds per turn.

    A reused call counts with the time that it took when it was made. Otherwise the cells that ran
    first would look slow, because they made the calls that all cells share.
    """
    reused = any(row.result.usage.reused for row in board.rows)
    meaning = "ms per turn" + (", reused calls as long as they once took" if reused else "")
    return _draw_scatter(board, measure, "latency", meaning, lambda row: row.result.full_latency)


def find_pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indices of the points that no other point beats on both axes, by rising x; low x and high
    y are better.
    """
    chosen: list[int] = []
    for index in sorted(
        range(len(points)), key=lambda index: (points[index][0], -points[index][1])
    ):
        if not chosen or points[index][1] > points[chosen[-1]][1]:
            chosen.append(index)
    return chosen


def _draw_scatter(
    board: Leaderboard, measure: str, against: str, meaning: str, x_of: Callable[[Row], float]
) -> Figure:
    """Draw a point for each run, with its place by the measure, and beside it the list of the runs."""
    runs = join_equal_rows(board, measure, x_of)
    points = [(x_of(row), row.scores[measure].mean) for _, row in runs]
    front = find_pareto_front(points)
    listed = sorted({*range(min(len(runs), _LISTED)), *front})
    lines = [f"{i + 1:>2}  {runs[i][0]}{_mark_partial([runs[i][1]])}" for i in listed]
    wide = 0.085 * max(map(len, lines))
    figure = make_figure(6.2 + wide, max(4.2, 0.187 * (len(lines) + 2)))
    axes, beside = figure.subplots(1, 2, width_ratios=[5.2, 1 + wide])
    beside.set_axis_off()
    beside.text(
        0, 1, "\n".join(lines), va="top", fontsize=8.5, transform=beside.transAxes, in_layout=False
    )
    for _, row in runs:
        score = row.scores[measure]
        axes.plot([x_of(row)] * 2, [score.low, score.high], color="0.8", lw=1.2, zorder=0)
    axes.plot(*zip(*points, strict=True), "o", color="black", ms=6, zorder=3)
    corners = [
        corner for a, b in pairwise(front) for corner in (points[a], (points[b][0], points[a][1]))
    ]
    axes.plot(*zip(*corners, points[front[-1]], strict=True), color="0.5", lw=1, zorder=1)
    if 0 < 30 * min(x for x, _ in points) < max(x for x, _ in points):
        _use_log_scale(axes)
    axes.margins(0.12)
    _set_frame(axes, meaning, measure, [f"{measure} against {against}"], [row for _, row in runs])
    label_points(axes, [(*points[i], str(i + 1)) for i in listed])
    return figure


def _use_log_scale(axes: Axes) -> None:
    """A logarithmic x axis with plain numbers at its ticks (`1,000`), where matplotlib would write
    formulas.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def label_points(axes: Axes, labels: Sequence[tuple[float, float, str]]) -> None:
    """Write each label (x, y, text) beside its point, with a thin line to it where the label had to
    move away.

    The layout of the figure is fixed first: the free space depends on it.
    """
    from adjustText import adjust_text

    figure: Any = axes.figure
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    texts = [
        axes.text(x, y, text, fontsize=8.5, ha="left", va="bottom", zorder=4)
        for x, y, text in labels
    ]
    xs, ys, _ = zip(*labels, strict=True)
    adjust_text(
        texts,
        xs,
        ys,
        ax=axes,
        iter_lim=_ADJUSTMENTS,
        expand=(1.08, 1.25),
        force_text=(0.2, 0.4),
        force_static=(0.4, 0.6),
        min_arrow_len=12,
        arrowprops={"arrowstyle": "-", "color": "0.5", "lw": 0.6},
    )


# A measure by the position of the turn in its conversation
# --------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """The curve of one run, at the positions that five conversations have.

    Args:
        name: of the run, and of those with the same score in every turn.
        row: the run.
        positions: of turns in their conversations, from 1, in rising order.
        means: of the measure at each position.
        bounds: the ends of the 95 % intervals, (positions, 2).
    """

    name: str
    row: Row
    positions: Sequence[int]
    means: NDArray[np.float64]
    bounds: NDArray[np.float64]


def make_curves(board: Leaderboard, measure: str) -> list[Curve]:
    """The curves of all runs by a measure, the best first; equal runs share one."""
    curves = []
    for name, row in join_equal_rows(board, measure):
        by_position = _group_by_position(row.result.scores, measure)
        positions = [number for number, found in by_position.items() if len(found) >= LEAST]
        names = list(dict.fromkeys(each for number in positions for each in by_position[number]))
        sums, sizes = np.zeros((2, len(names), len(positions)))
        for column, number in enumerate(positions):
            for conversation, values in by_position[number].items():
                place = names.index(conversation), column
                sums[place], sizes[place] = sum(values), len(values)
        if positions:
            means = sums.sum(axis=0) / sizes.sum(axis=0)
            curves.append(Curve(name, row, positions, means, bootstrap_intervals(sums, sizes)))
    return curves


def _group_by_position(scores: Scores, measure: str) -> dict[int, dict[str, list[float]]]:
    """Position of a turn -> conversation -> the values of the measure there, in rising order of
    positions.
    """
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = scores.numbers, scores.conversations, scores.measures.get(measure, ())
    for number, name, value in zip(*columns, strict=False):
        if value == value:
            found[number][name].append(value)
    return dict(sorted(found.items()))


def draw_turns(board: Leaderboard, measure: str, curves: Sequence[Curve]) -> Figure:
    """Draw a measure by turn: the best twelve runs, each in a panel with its 95 % band, and the
    baseline in grey.
    """
    shown = curves[:_PANELS]
    columns = min(len(shown), _COLUMNS)
    downwards = ceil(len(shown) / columns)
    figure = make_figure(1.0 + 2.5 * columns, 1.5 + 2.1 * downwards)
    grid = figure.subplots(downwards, columns, sharex=True, sharey=True, squeeze=False)
    baseline = next((curve for curve in curves if curve.row.result is board.baseline), None)
    handles: dict[str, Any] = {}
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    for axes, curve in zip(grid.flat, shown, strict=False):
        (line,) = axes.plot(
            curve.positions, curve.means, color="#08519c", marker="o", ms=3.6, zorder=3
        )
        band = axes.fill_between(
            curve.positions, *curve.bounds.T, color="#9ecae1", alpha=0.55, lw=0, zorder=1
        )
        handles |= {"run of the panel": line, "95 % interval": band}
        if baseline and baseline is not curve:
            (line,) = axes.plot(
                baseline.positions, baseline.means, color="0.35", ls="--", lw=1.1, zorder=2
            )
            handles[shorten(f"baseline ({baseline.name})", 60)] = line
        axes.set_title(shorten(curve.name, 40), fontsize=9)
        axes.locator_params(axis="x", integer=True)
    figure.legend(handles.values(), handles, loc="outside upper right", ncols=len(handles))
    worst = f", the best {len(shown)} of {len(curves)} runs" if len(shown) < len(curves) else ""
    figure.supxlabel(f"turn (of at least {LEAST} conversations){worst}", fontsize=9)
    figure.supylabel(measure, fontsize=10)
    return figure
