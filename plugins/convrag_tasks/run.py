"""`task=run`: a run over a data set."""

from functools import partial
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig

from convrag import Run, RunSummary, Task


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
        """Run it and print the summary; 3 if it is partial (some turns failed, say), 1 if all turns failed.

        Where nothing was chosen (`python -m convrag`), one conversation is printed too, and what to try next.
        """
        from convrag.sdk.console import make_console
        from convrag.sdk.tasks.configuration import Command
        from convrag.sdk.tasks.grids import find_sweep_id
        from convrag.sdk.tasks.runs import run_experiment
        from convrag.sdk.tasks.scores import ADVICE, print_summary
        from convrag_tasks.first_run import FirstRunDisplay, is_first_run
        from convrag_tasks.turn_trace import TraceObserver

        sweep = find_sweep_id(folder)
        print_lines = partial(make_console().print, soft_wrap=True)
        first = FirstRunDisplay() if is_first_run(Command.read()) else None
        observers = [*([first] if first else []), *([TraceObserver(print_lines)] if self.show == "trace" else [])]
        top_level = self.top_level or ""

        def show(run: Run, summary: RunSummary) -> None:
            if first:
                first.show_results(run, summary)
            elif not sweep:  # the scores of all cells come in one table; all else stands in each summary.md
                print_summary(run, summary, advice=ADVICE)

        run, summary = run_experiment(
            config, folder, *observers, sweep=sweep, reuse=bool(sweep), top_level=top_level, show=show
        )
        if run.reused:
            show(run, summary)
        if first:
            first.show_next_steps()
        return summary.exit_status
