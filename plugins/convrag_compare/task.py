"""`task=compare`: compares finished runs."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag import ConfigError, Task
from convrag.sdk.files import write_atomically
from convrag.sdk.tasks.configuration import read_metric_names


class CompareTask(Task):
    """Compare finished runs: leaderboard, significance, effects, costs and plots, as after a grid.

    `sweep.metric` names the measures to compare by, and the first one decides the order;
    `sweep.baseline` the overrides, or the name, of the run to compare with (the first one unless
    given). A factor is whatever the runs' command lines say that is not the same for all. Runs that
    were scored on different turns are compared on those that they share. The files are those that a
    grid leaves, in this command's own folder.

    Args:
        runs: folders of runs, folders of grids (all their finished cells), globs of such, or ids
            of runs in MLflow (of a grid's parent: all its finished runs).
        names: what tables and plots call the runs, one for each in their order (`[no
            rewriting,DH-RAG]`); without them, runs are named by the overrides in which they differ.
        columns: the measures and factors of leaderboard.tex (`[nDCG@5,ROUGE-L]`); without them, all
            that are compared.
        tracking_uri: MLflow's tracking address, for runs that are given by their ids.
    """

    def __init__(
        self,
        *,
        runs: list[str],
        names: list[str] | None = None,
        columns: list[str] | None = None,
        tracking_uri: str = "sqlite:///outputs/mlflow.db",
    ) -> None:
        if not runs:
            raise ConfigError(
                "task.runs is empty: task.runs=[outputs/sweeps/*] compares all cells of all grids"
            )
        self.runs = list(runs)
        self.names = list(names or ())
        self.columns = list(columns or ())
        self.tracking_uri = tracking_uri

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read the runs, write the files and print the leaderboard."""
        from convrag.sdk.output.console import make_console
        from convrag_compare.baseline import find_baseline, settle_baseline
        from convrag_compare.find_runs import find_runs, name_runs
        from convrag_compare.leaderboard_latex import find_unknown_columns
        from convrag_compare.report import announce_comparison, compare_runs, find_missing_metrics
        from convrag_compare.terminal_tables import print_tables

        results = find_runs(self.runs, folder / "mlflow", self.tracking_uri)
        metrics = read_metric_names(config.sweep.metric)
        missing = find_missing_metrics(results, metrics)
        if missing:
            raise ConfigError(missing)
        remarks = [
            f"{', '.join(run.repeated_by)}: the same experiment as {run.name}."
            for run in results
            if run.repeated_by
        ]
        wanted = config.sweep.baseline
        if wanted in self.names:
            place = self.names.index(wanted)
        else:
            place = results.index(find_baseline(results, wanted))
        if self.names:
            results = name_runs(results, self.names)
        unknown = find_unknown_columns(results, self.columns)
        if unknown:
            raise ConfigError(unknown)
        baseline, baseline_remarks = settle_baseline(results[place], results, wanted)
        remarks += baseline_remarks
        report = compare_runs(
            results, metrics, baseline, folder, columns=self.columns, remarks=remarks
        )
        for name, text in report.files.items():
            write_atomically(folder / name, text)
        configuration: Any = OmegaConf.to_container(config, resolve=False)
        announce_comparison(report, results, folder, configuration)
        console = make_console()
        print_tables(report, {}, console)
        for line in report.lines:
            console.print(line, soft_wrap=True)
        return 0
