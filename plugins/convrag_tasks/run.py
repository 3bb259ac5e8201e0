"""`task=run`: a run over a data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from convrag import Task


class RunTask(Task):
    """Answer every question of the data set, measure, and write the results (the default)."""

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary; 1 where the run was stopped, or no turn at all could be answered."""
        from rich.console import Console

        from convrag.run.runner import run_experiment
        from convrag.score.summary_page import list_remarks, make_table
        from convrag.sweep.sweep_file import find_sweep_id

        sweep = find_sweep_id(folder)
        run, summary = run_experiment(config, folder, sweep=sweep, reuse=bool(sweep))
        console = Console()
        if sweep:  # the scores of all cells come in one table; what stages have to say stands in each summary.md
            run = replace(run, notes=())
        elif summary.overall:
            console.print(make_table(summary))
        for line in list_remarks(run, summary):
            console.print(line, highlight=False, markup=False)
        console.print(f"Results: {run.folder}", highlight=False, markup=False, soft_wrap=True)
        return int(bool(summary.stopped) or summary.failed == summary.turns)
