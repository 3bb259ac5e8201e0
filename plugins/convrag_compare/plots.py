"""The plots of a comparison: what is drawn, and where it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from convrag_compare.leaderboard import Leaderboard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 48
"""Heat maps of all measures at most; beyond, only those of the metric that decides."""


def draw(board: Leaderboard, folder: Path) -> list[str]:
    """Draw all plots that have something to show into the folder.

    Returns:
        What a reader should be told about them.
    """
    if not any(row.mean == row.mean for row in board.rows):
        return []
    if not find_spec("matplotlib"):
        return ["No plots were drawn: matplotlib is not installed (pip install 'convrag[plots]')."]
    from matplotlib import rc_context

    from convrag_compare.drawing import STYLE

    with rc_context(STYLE):
        for name, make in _figures(board):
            unfinished = folder / f"{name}.unfinished"
            make().savefig(unfinished, format="png")
            unfinished.replace(folder / f"{name}.png")
    return []


def _figures(board: Leaderboard) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """File name and maker of each figure."""
    from convrag_compare import curves, heat, scatter

    if board.factors:
        places = heat.combinations(board)
        wanted = board.measures if len(places) * len(board.measures) <= _MOST else [board.metric]
        for measure in wanted:
            for combination in places:
                name = "_".join([f"heat_{measure}", *(f"{key}={value}" for key, value in combination.items())])
                yield _plain(name), lambda m=measure, c=combination: heat.heat_map(board, m, c)  # type: ignore[misc]
    if scatter.has_costs(board):
        yield "quality_cost", lambda: scatter.against_cost(board)
    yield "quality_latency", lambda: scatter.against_latency(board)
    if any(row.outcome.scores.turns for row in board.rows):
        yield "turns", lambda: curves.by_turn(board)


def _plain(name: str) -> str:
    """A file name that every system takes."""
    return "".join(sign if sign.isalnum() or sign in "@=._-" else "-" for sign in name)[:120]
