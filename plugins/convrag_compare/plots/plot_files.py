"""The plots of a comparison, and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from convrag.sdk.files import encode_name, write_atomically
from convrag.sdk.identity import digest
from convrag.sdk.output.plots import STYLE, save_figure
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.plots.heat_map import draw_heat_map, list_combinations
from convrag_compare.plots.scatter_plot import draw_cost, draw_latency, has_costs
from convrag_compare.plots.turn_curves import draw_turns, make_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_HEAT_MAPS = 48
"""If the compared measures need more heat maps than this, only the first measure has heat maps."""

_KINDS = ("png", "svg")
_PREFIXES = ("heat_", "quality_", "turns")

_MANIFEST = ".plots"
"""The file with a digest of what the plots were drawn from, and a line for each plot."""


def draw_plots(board: Leaderboard, folder: Path) -> list[str]:
    """Draw the plots of the compared measures as PNG and SVG files in the folder.

    Only measures by which runs differ are drawn. Plots of an earlier report are removed, unless
    they were drawn from the same numbers: then they stay, and nothing is drawn.

    Returns:
        Remarks for the report: one where a library is not installed.
    """
    manifest = folder / _MANIFEST
    identity = digest([repr(asdict(board)), STYLE, _read_source()])
    if _is_up_to_date(manifest, identity):
        return []
    _remove_plots(folder)
    if not board.metrics:
        return []
    for library in ("matplotlib", "adjustText"):
        if not find_spec(library):
            return [
                f"No plots were drawn: {library} is not installed (pip install 'convrag[plots]')."
            ]
    from matplotlib import rc_context

    plots = _list_plots(board)
    written = []
    with rc_context(STYLE):
        for stem, draw in zip(name_plots(list(plots)), plots.values(), strict=True):
            figure = draw()
            for kind in _KINDS:
                save_figure(figure, folder / f"{stem}.{kind}")
                written.append(f"{stem}.{kind}")
    write_atomically(manifest, "\n".join([identity, *written]))
    return []


def name_plots(titles: Sequence[str]) -> list[str]:
    """Name the files of plots, without suffix; different titles have different names.

    `encode_name` marks capitals (nDCG@5%=e) for file systems that ignore case. Where no other plot
    differs in case alone, the mark is left out.
    """
    encoded = [encode_name(title) for title in titles]
    plain = [name.partition("%=")[0] for name in encoded]
    occurrences = Counter(name.casefold() for name in plain)
    return [
        short if occurrences[short.casefold()] == 1 else full
        for short, full in zip(plain, encoded, strict=True)
    ]


def _read_source() -> list[str]:
    """Read the code of the plots, so that plots of an earlier version are drawn again."""
    return [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]


def _is_up_to_date(manifest: Path, identity: str) -> bool:
    if not manifest.exists():
        return False
    drawn_from, *names = manifest.read_text("utf-8", "replace").splitlines()
    return drawn_from == identity and all((manifest.parent / name).is_file() for name in names)


def _remove_plots(folder: Path) -> None:
    for prefix in _PREFIXES:
        for kind in _KINDS:
            for plot in folder.glob(f"{prefix}*.{kind}"):
                plot.unlink()
    (folder / _MANIFEST).unlink(missing_ok=True)


def _list_plots(board: Leaderboard) -> dict[str, Callable[[], Figure]]:
    """List the plots by title, each with the function that draws it."""
    measures = board.list_differing()
    plots: dict[str, Callable[[], Figure]] = _list_heat_maps(board, measures)
    for measure in measures:
        if has_costs(board):
            plots[f"quality_cost_{measure}"] = partial(draw_cost, board, measure)
        plots[f"quality_latency_{measure}"] = partial(draw_latency, board, measure)
        if curves := make_curves(board, measure):
            plots[f"turns_{measure}"] = partial(draw_turns, board, measure, curves)
    return plots


def _list_heat_maps(board: Leaderboard, measures: Sequence[str]) -> dict[str, Callable[[], Figure]]:
    if not board.factors:
        return {}
    combinations = {measure: list_combinations(board, measure) for measure in measures}
    if sum(map(len, combinations.values())) > _MOST_HEAT_MAPS:
        measures = measures[:1]
    plots: dict[str, Callable[[], Figure]] = {}
    for measure in measures:
        for combination in combinations[measure]:
            levels = [f"{factor}={level}" for factor, level in combination.items()]
            title = "_".join([f"heat_{measure}", *levels])
            plots[title] = partial(draw_heat_map, board, measure, combination)
    return plots
