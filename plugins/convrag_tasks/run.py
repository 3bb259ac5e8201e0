"""`task=run`, a run over a data set; `task=record`, one with recorded replies; `task=index`."""

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal

from omegaconf import DictConfig

from convrag import (
    Completion,
    ConfigError,
    Prompt,
    Retriever,
    Run,
    RunSummary,
    Store,
    Task,
    TurnRecord,
    hookimpl,
)
from convrag.sdk.files import open_atomically
from convrag.sdk.llm.recording import compute_prompt_key, format_reply

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class RunTask(Task):
    """Answer every question of the data set, measure, and write the results (the default).

    Args:
        show: trace prints what happened in each turn: what the rewriter did and why (the gate's
            reasons), what was searched for, how many passages were found and shown, tokens,
            seconds.
        top_level: a stage whose entries under "trace" are also at the top level of the lines of
            intermediate/; rewriter gives those of rewriter=mmr the seed's keys.
    """

    show: Literal["trace"] | None = None
    top_level: Literal["rewriter", "context", "generator"] | None = None

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary.

        If nothing was chosen (`python -m convrag`), one conversation is also printed, and what to
        try next.

        Returns:
            3 if the run is partial (some turns failed, say), 1 if all turns failed, else 0.
        """
        from convrag.sdk.output.console import make_console
        from convrag.sdk.tasks.configuration import Command
        from convrag.sdk.tasks.grids import find_sweep_id
        from convrag.sdk.tasks.runs import run_experiment
        from convrag.sdk.tasks.scores import ADVICE, print_summary
        from convrag_tasks.first_run import FirstRunDisplay, is_first_run
        from convrag_tasks.turn_trace import TraceObserver

        sweep = find_sweep_id(folder)
        observers: list[FirstRunDisplay | TraceObserver] = []
        first_run = FirstRunDisplay() if is_first_run(Command.read()) else None
        if first_run:
            observers.append(first_run)
        if self.show == "trace":
            print_lines = partial(make_console().print, soft_wrap=True)
            observers.append(TraceObserver(print_lines))

        def show(run: Run, summary: RunSummary) -> None:
            if first_run:
                first_run.show_results(run, summary)
            elif not sweep:  # a grid prints one table, and each cell has its summary.md
                print_summary(run, summary, advice=ADVICE)

        run, summary = run_experiment(
            config,
            folder,
            *observers,
            sweep=sweep,
            reuse=bool(sweep),
            top_level=self.top_level or "",
            show=show,
        )
        if run.reused:
            show(run, summary)
        if first_run:
            first_run.show_next_steps()
        return summary.exit_status


class IndexTask(Task):
    """Build the index of the chosen retriever over the data set's corpora; ask no question.

    A retriever on a server needs it before its first run; local ones build their index by
    themselves when they are first used, and this does it ahead of time. Nothing is built twice: the
    same command goes on where a killed one stopped.
    """

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Build the index and print what was done."""
        from convrag.sdk.output.console import make_console
        from convrag.sdk.tasks.turns import Wiring

        wiring = Wiring(config)
        wiring.get("retriever")
        wiring.check()
        start = time.perf_counter()
        # the retrievers of a hybrid come before it, and each has its own index
        for place, stage in wiring.stages.items():
            if isinstance(stage, Retriever):
                for line in stage.index() or ["it is ready"]:
                    make_console().print(f"{place}: {line}", soft_wrap=True)
        make_console().print(f"{time.perf_counter() - start:.1f} s")
        return 0


class RecordTask(Task):
    """Run as task=run does, and write all replies of language models into a file for llm=replay.

    Cached replies are recorded like new ones, so recording after a run asks nothing again.

    Args:
        path: the file to write; it appears whole when the run has ended, in place of one that is
            there.
        store: the run's store.
        damaged_store: a store.damaged-<time>.sqlite that was renamed aside. Results that can be
            read there, and the store lacks, are taken over first: replies that were paid for are
            not asked for again.
    """

    def __init__(self, *, path: Path, store: Store, damaged_store: Path | None = None) -> None:
        self.path = path
        self._store = store
        self.damaged_store = damaged_store

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary.

        Returns:
            3 if the run is partial (some turns failed, say), 1 if all turns failed, else 0.
        """
        from convrag.sdk.tasks.grids import find_sweep_id
        from convrag.sdk.tasks.runs import run_experiment
        from convrag.sdk.tasks.scores import ADVICE, print_summary

        if self.damaged_store:
            if not self.damaged_store.is_file():
                raise ConfigError(f"task.damaged_store={self.damaged_store}: there is no such file")
            count = self._store.take_over(self.damaged_store)
            log.info("%s: %d results are taken over", self.damaged_store, count)
        if find_sweep_id(folder):
            raise ConfigError("task=record writes one file: record one run at a time, without -m")
        with ExitStack() as stack:
            recorder = Recorder(self._open(stack))

            def show(run: Run, summary: RunSummary) -> None:
                print_summary(run, summary, f"{recorder.count} replies: {self.path}", advice=ADVICE)

            _, summary = run_experiment(config, folder, recorder, show=show)
        return summary.exit_status

    def _open(self, stack: ExitStack) -> IO[str]:
        """Open the file before the first turn. Raises ConfigError where it cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return stack.enter_context(open_atomically(self.path))
        except OSError as error:
            raise ConfigError(
                f"task.path={self.path} cannot be written: {error.strerror}"
            ) from error


class Recorder:
    """An observer of a run that writes each reply once, in the order of the turns.

    Args:
        file: the file that the lines are written to.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._seen: set[str] = set()

    @property
    def count(self) -> int:
        """The number of replies that were written."""
        return len(self._seen)

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Write the replies to the stages of this turn."""
        self._write(record.replies)

    @hookimpl
    def convrag_run_measured(self, run: Run, replies: Sequence[tuple[Prompt, Completion]]) -> None:
        """Write the replies to metrics."""
        self._write(replies)

    def _write(self, replies: Sequence[tuple[Prompt, Completion]]) -> None:
        """Write replies; of several to one prompt, as from two models, only the first."""
        for prompt, completion in replies:
            key = compute_prompt_key(prompt)
            if key not in self._seen:
                self._seen.add(key)
                self._file.write(f"{format_reply(prompt, completion)}\n")
