"""What runs came to, side by side: leaderboard, significance, effects, costs and plots of grids and finished runs."""

from __future__ import annotations

from collections.abc import Iterable

from convrag import Register, Report, Sweep, hookimpl
from convrag_compare.stored import Stored
from convrag_compare.task import CompareTask

__all__ = ["CompareTask"]

_stored = Stored()


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the task."""
    register("task", "compare", CompareTask)


@hookimpl
def convrag_sweep_check(sweep: Sweep) -> Iterable[str]:
    """A baseline must be one of the cells: the grid may take hours."""
    from convrag_compare.sweeps import check

    return check(sweep)


@hookimpl
def convrag_sweep_started(sweep: Sweep) -> None:
    """Note what the store holds by now."""
    _stored.begin(sweep)


@hookimpl
def convrag_sweep_report(sweep: Sweep) -> Report | None:
    """Compare the cells of a grid of runs."""
    from convrag_compare.sweeps import report_on

    return report_on(sweep, _stored.new(sweep))


@hookimpl
def convrag_sweep_finished(sweep: Sweep, reports: list[Report]) -> None:
    """Show the leaderboard on the terminal, when it stands in its file."""
    from convrag_compare.sweeps import show

    show(sweep, reports)
