"""Compares runs and grids: leaderboard, significance, effects, costs and plots.

* `task`: `task=compare`.
* `find_runs`, `run_result`: the finished runs that are compared, each with its scores by turn.
* `mlflow_runs`: runs and grids that are given by their ids in MLflow.
* `grid_report`: the comparison of a grid's cells, after the grid.
* `report`: the report of a comparison: its measures, files, plots and numbers.
* `baseline`: the run that all others are compared with.
* `shared_turns`: the turns that all compared runs were scored on.
* `paired_differences`: means of runs, and differences between two runs, with intervals.
* `significance`: p-values by a paired randomisation test, and Holm's correction.
* `factors`, `factor_effects`: the overrides in which runs differ, and the effect of each.
* `leaderboard`: the means of each run, and differences to the baseline.
* `leaderboard_files`: leaderboard.md and leaderboard.csv.
* `leaderboard_latex`: leaderboard.tex, for papers.
* `costs_files`: costs.md and costs.csv: times, calls, tokens and costs.
* `effects_file`: effects.md: the measures that each factor moves.
* `tables`: tables as Markdown and CSV, and the formats of numbers in them.
* `terminal_tables`: the leaderboard on a terminal.
* `plots`: the plots of a comparison.
"""

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
