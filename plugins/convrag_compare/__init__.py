"""Compares runs and grids: leaderboard, significance, effects, costs and plots."""

from collections.abc import Iterable

from convrag import Register, Report, hookimpl
from convrag.sdk.types import Sweep


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the task."""
    register(
        "task",
        "compare",
        "convrag_compare.task:CompareTask",
        "Compare finished runs: leaderboard, significance, effects, costs and plots, as "
        "after a grid.",
    )


@hookimpl
def convrag_sweep_check(sweep: Sweep) -> Iterable[str]:
    """Check that the baseline is one of the cells, before a grid runs for hours."""
    from convrag_compare.grid_report import check_baseline

    return check_baseline(sweep)


@hookimpl
def convrag_sweep_report(sweep: Sweep) -> Report | None:
    """Compare the cells of a grid of runs."""
    from convrag_compare.grid_report import report_on

    return report_on(sweep)


@hookimpl
def convrag_sweep_finished(sweep: Sweep, reports: list[Report]) -> None:
    """Print the leaderboard, after its files have been written."""
    from convrag_compare.grid_report import print_leaderboard

    print_leaderboard(sweep, reports)
