"""`task=run`: a run over a data set; `task=record`: one whose replies are recorded; `task=index`:
the index alone.
"""

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


@dataclass(kw_only=True, eq=False)
class RunTask(Task):
    """Answer every question of the data set, measure, and write the results (the default).

    Args:
        show: trace prints what happened in each turn: what the rewriter did and why (the gate's
            reasons), what was searched for, how many passages were found and shown, tokens,
            seconds.
        top_level: a stage whose entries under "trace" stand at the top level of the lines of
            intermediate/ too; rewriter gives those of rewriter=mmr the seed's keys.
    """

    show: Literal["trace"] | None = None
    top_level: Literal["rewriter", "context", "generator"] | None = None

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary; 3 if it is partial (some turns failed, say), 1 if all turns
        failed.

        Where nothing was chosen (`python -m convrag`), one conversation is printed too, and what to
        try next.
        """
        from convrag.sdk.output.console import make_console
        from convrag.sdk.tasks.configuration import Command
        from convrag.sdk.tasks.grids import find_sweep_id
        from convrag.sdk.tasks.runs import run_experiment
        from convrag.sdk.tasks.scores import ADVICE, print_summary
        from convrag_tasks.first_run import FirstRunDisplay, is_first_run
        from convrag_tasks.turn_trace import TraceObserver

        sweep = find_sweep_id(folder)
        print_lines = partial(make_console().print, soft_wrap=True)
        first = FirstRunDisplay() if is_first_run(Command.read()) else None
        observers = [
            *([first] if first else []),
            *([TraceObserver(print_lines)] if self.show == "trace" else []),
        ]
        top_level = self.top_level or ""

        def show(run: Run, summary: RunSummary) -> None:
            if first:
                first.show_results(run, summary)
            elif (
                not sweep
            ):  # the scores of all cells come in one table; all else stands in each summary.md
                print_summary(run, summary, advice=ADVICE)

        run, summary = run_experiment(
            config,
            folder,
            *observers,
            sweep=sweep,
            reuse=bool(sweep),
            top_level=top_level,
            show=show,
        )
        if run.reused:
            show(run, summary)
        if first:
            first.show_next_steps()
        return summary.exit_status


class IndexTask(Task):
    """Build what the chosen retriever searches, over the data set's corpora; no question is asked.

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
        # The retrievers of a hybrid stand before it; each has its own index.
        for place, stage in wiring.stages.items():
            if isinstance(stage, Retriever):
                for line in stage.index() or ["it is ready"]:
                    make_console().print(f"{place}: {line}", soft_wrap=True)
        make_console().print(f"{time.perf_counter() - start:.1f} s")
        return 0


log = logging.getLogger(__name__)


class RecordTask(Task):
    """Run as task=run does, and write all replies of language models into a file for llm=replay.

    What the store remembers is recorded like what is asked now, so recording after a run asks
    nothing again.

    Args:
        path: the file to write; it appears whole when the run has ended, in place of one that is
            there.
        store: the run's store.
        damaged_store: a store.damaged-<time>.sqlite that was renamed aside. What can be read there,
            and the store lacks, is taken over first: replies that were paid for are not asked for
            again.
    """

    def __init__(self, *, path: Path, store: Store, damaged_store: Path | None = None) -> None:
        self.path = path
        self._store = store
        self.damaged_store = damaged_store

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary; 3 if it is partial (some turns failed, say), 1 if all turns
        failed.
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
    """Observes a run, and writes each reply once, in the order of the turns.

    Args:
        file: where the lines go.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._seen: set[str] = set()

    @property
    def count(self) -> int:
        """How many replies were written."""
        return len(self._seen)

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Write the replies that stages got in this turn."""
        self._write(record.replies)

    @hookimpl
    def convrag_run_measured(self, run: Run, replies: Sequence[tuple[Prompt, Completion]]) -> None:
        """Write the replies that metrics got."""
        self._write(replies)

    def _write(self, replies: Sequence[tuple[Prompt, Completion]]) -> None:
        """Write replies; of two replies to one prompt, from two models for example, the first is
        kept.
        """
        for prompt, completion in replies:
            if (key := compute_prompt_key(prompt)) not in self._seen:
                self._seen.add(key)
                self._file.write(f"{format_reply(prompt, completion)}\n")
