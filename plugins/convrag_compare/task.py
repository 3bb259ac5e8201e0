"""`task=compare`: compares finished runs."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from convrag import ConfigError, Task
from convrag.store.atomic import write_atomically


class CompareTask(Task):
    """Compare finished runs: leaderboard, significance, effects, costs and plots, as after a grid.

    `sweep.metric` is the measure that decides; `sweep.baseline` the overrides, or the name, of the run to compare with
    (the first one unless given). A factor is whatever the runs' command lines say that is not the same for all. The
    files are those that a grid leaves, in this command's own folder.

    Args:
        runs: folders of runs, folders of grids (all their finished cells), globs of such, or MLflow run ids (of a
            grid's parent: all its finished runs).
        tracking_uri: MLflow's tracking address, for runs that are given by their ids.
    """

    def __init__(self, *, runs: list[str], tracking_uri: str = "sqlite:///outputs/mlflow.db") -> None:
        if not runs:
            raise ConfigError("task.runs is empty: task.runs=[outputs/sweeps/*] compares all cells of all grids")
        self.runs = list(runs)
        self.tracking_uri = tracking_uri

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read the runs, write the files and print the leaderboard."""
        from convrag.sdk.console import make_console
        from convrag_compare.factors import find_baseline, settle_baseline
        from convrag_compare.find_runs import find_runs
        from convrag_compare.report import compare_runs, make_terminal_table

        results = find_runs(self.runs, folder / "mlflow", self.tracking_uri)
        wanted = config.sweep.baseline
        baseline, remarks = settle_baseline(find_baseline(results, wanted), results, wanted)
        report = compare_runs(results, str(config.sweep.metric), baseline, folder, remarks=remarks)
        for name, text in report.files.items():
            write_atomically(folder / name, text)
        console = make_console()
        console.print(make_terminal_table(report, {}, console.width))
        for line in report.lines:
            console.print(line, soft_wrap=True)
        return 0
