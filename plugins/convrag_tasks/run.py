"""`task=run`: a run over a data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from convrag import Task


class RunTask(Task):
    """Answer every question of the data set, measure, and write the results (the default)."""

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary; 3 if it is partial (some turns failed, say), 1 if all turns failed."""
        from convrag.run.runner import run_experiment
        from convrag.score.summary_page import ADVICE, print_summary
        from convrag.sweep.sweep_file import find_sweep_id

        sweep = find_sweep_id(folder)
        run, summary = run_experiment(config, folder, sweep=sweep, reuse=bool(sweep))
        if sweep:  # the scores of all cells come in one table; what stages have to say stands in each summary.md
            run = replace(run, notes=())
        print_summary(run, summary, table=not sweep, advice=ADVICE)
        return summary.exit_status
