"""`task=run`: a run over a data set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig

from convrag import Task


class RunTask(Task):
    """Answer every question of the data set, measure, and write the results (the default).

    Args:
        show: trace prints what happened in each turn: what the rewriter did and why (the gate's reasons), what was
            searched for, how many passages were found and shown, tokens by part of the prompt, seconds.
        top_level: a stage whose entries under "trace" stand at the top level of the lines of intermediate/ too;
            rewriter gives those of rewriter=mmr the seed's keys.
    """

    def __init__(
        self,
        *,
        show: Literal["trace"] | None = None,
        top_level: Literal["rewriter", "context", "generator"] | None = None,
    ) -> None:
        self.show = show
        self.top_level = top_level

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary; 1 where the run was stopped, or no turn at all could be answered."""
        from rich.console import Console

        from convrag.run.runner import run_experiment
        from convrag.score.summary_page import list_remarks, make_table
        from convrag.sweep.sweep_file import find_sweep_id
        from convrag_tasks.turn_trace import TraceObserver

        sweep = find_sweep_id(folder)
        console = Console()
        observers = [TraceObserver(partial(console.print, highlight=False, markup=False, soft_wrap=True))]
        run, summary = run_experiment(
            config,
            folder,
            *(observers if self.show == "trace" else []),
            sweep=sweep,
            reuse=bool(sweep),
            top_level=self.top_level or "",
        )
        if sweep:  # the scores of all cells come in one table; what stages have to say stands in each summary.md
            run = replace(run, notes=())
        elif summary.overall:
            console.print(make_table(summary))
        for line in list_remarks(run, summary):
            console.print(line, highlight=False, markup=False)
        console.print(f"Results: {run.folder}", highlight=False, markup=False, soft_wrap=True)
        return int(bool(summary.stopped) or summary.failed == summary.turns)
