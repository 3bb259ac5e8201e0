"""The plots of a comparison: which are drawn, and the files that they are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from convrag.sdk.files import open_atomically
from convrag_compare.leaderboard import Leaderboard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_HEAT_MAPS = 48
"""Where all compared measures together would need more, only the first of them has heat maps."""


def draw_plots(board: Leaderboard, folder: Path) -> list[str]:
    """Draw the plots of the compared measures by which runs differ, as PNG and SVG files in the folder.

    Returns:
        Remarks for the report; one says so where a library is not installed.
    """
    if not board.metrics:
        return []
    if missing := [name for name in ("matplotlib", "adjustText") if not find_spec(name)]:
        return [f"No plots were drawn: {missing[0]} is not installed (pip install 'convrag[plots]')."]
    from matplotlib import rc_context

    from convrag_compare.plot_style import STYLE, fix_layout

    with rc_context(STYLE):
        for name, make in _list_figures(board):
            figure = make()
            fix_layout(figure)
            for kind in ("png", "svg"):
                with open_atomically(folder / f"{name}.{kind}", "wb") as file:
                    figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return []


def _list_figures(board: Leaderboard) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """The name of each figure, without .png, and a function that draws it."""
    from convrag_compare import plot_heat_map, plot_scatter, plot_turns

    differing = board.list_differing()
    if board.factors:
        combinations = {measure: plot_heat_map.list_combinations(board, measure) for measure in differing}
        few = sum(map(len, combinations.values())) <= _MOST_HEAT_MAPS
        for measure in differing if few else differing[:1]:
            for combination in combinations[measure]:
                name = "_".join([f"heat_{measure}", *(f"{key}={value}" for key, value in combination.items())])
                yield _make_file_name(name), partial(plot_heat_map.draw_heat_map, board, measure, combination)
    for measure in differing:
        if plot_scatter.has_costs(board):
            yield _make_file_name(f"quality_cost_{measure}"), partial(plot_scatter.draw_cost, board, measure)
        yield _make_file_name(f"quality_latency_{measure}"), partial(plot_scatter.draw_latency, board, measure)
        if (curves := plot_turns.make_curves(board, measure)).curves:
            yield _make_file_name(f"turns_{measure}"), partial(plot_turns.draw_turns, board, measure, curves)


def _make_file_name(name: str) -> str:
    """A name without signs that a file system may refuse."""
    return "".join(sign if sign.isalnum() or sign in "@=._-" else "-" for sign in name)[:120]
