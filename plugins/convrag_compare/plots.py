"""The plots of a comparison: which are drawn, and the files that they are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from convrag.store.atomic import open_atomically
from convrag_compare.leaderboard import Leaderboard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_HEAT_MAPS = 48
"""Where all measures together would need more, only the metric that decides has heat maps."""


def draw_plots(board: Leaderboard, folder: Path) -> list[str]:
    """Draw every plot for which there are data, as PNG files in the folder.

    Returns:
        Remarks for the report; one says so where a library is not installed.
    """
    if not any(row.mean == row.mean for row in board.rows):
        return []
    if missing := [name for name in ("matplotlib", "adjustText") if not find_spec(name)]:
        return [f"No plots were drawn: {missing[0]} is not installed (pip install 'convrag[plots]')."]
    from matplotlib import rc_context

    from convrag_compare.plot_style import STYLE

    with rc_context(STYLE):
        for name, make in _list_figures(board):
            with open_atomically(folder / f"{name}.png", "wb") as file:
                make().savefig(file, format="png")
    return []


def _list_figures(board: Leaderboard) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """The name of each figure, without .png, and a function that draws it."""
    from convrag_compare import plot_heat_map, plot_scatter, plot_turns

    if board.factors:
        combinations = plot_heat_map.list_combinations(board)
        wanted = board.measures if len(combinations) * len(board.measures) <= _MOST_HEAT_MAPS else [board.metric]
        for measure in wanted:
            for combination in combinations:
                name = "_".join([f"heat_{measure}", *(f"{key}={value}" for key, value in combination.items())])
                yield _make_file_name(name), lambda m=measure, c=combination: plot_heat_map.draw_heat_map(board, m, c)  # type: ignore[misc]
    if plot_scatter.has_costs(board):
        yield "quality_cost", lambda: plot_scatter.draw_cost(board)
    yield "quality_latency", lambda: plot_scatter.draw_latency(board)
    if any(row.result.scores.turns for row in board.rows):
        yield "turns", lambda: plot_turns.draw_turns(board)


def _make_file_name(name: str) -> str:
    """A name without signs that a file system may refuse."""
    return "".join(sign if sign.isalnum() or sign in "@=._-" else "-" for sign in name)[:120]
