"""`task=record`: a run whose replies of language models are kept in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from convrag import Completion, ConfigError, Prompt, Run, RunSummary, Task, TurnRecord, hookimpl
from convrag.sdk.recording import key_of, to_line


class RecordTask(Task):
    """Run as task=run does, and write all replies of language models into a file for llm=replay.

    What the store remembers is recorded like what is asked now, so recording after a run asks nothing again.

    Args:
        path: the file to write; it appears whole when the run has ended, in place of one that is there.
    """

    def __init__(self, *, path: Path) -> None:
        self.path = path

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Run it and print the summary; 1 where the run was stopped, or no turn at all could be answered."""
        from rich.console import Console

        from convrag.run.runner import run
        from convrag.score.summary_page import remarks, table
        from convrag.sweep.sweep_file import find_sweep_id

        if find_sweep_id(folder):
            raise ConfigError("task=record writes one file: record one run at a time, without -m")
        recorder = Recorder(self.path)
        try:
            this, summary = run(config, folder, recorder)
        finally:
            recorder.discard()
        console = Console()
        if summary.overall:
            console.print(table(summary))
        for line in [*remarks(this, summary), f"Results: {this.folder}", f"{recorder.count} replies: {self.path}"]:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        return int(bool(summary.stopped) or summary.failed == summary.turns)


class Recorder:
    """Watches a run: keeps each reply once, in the order of the turns.

    Raises ConfigError where the file cannot be written, before the first turn.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = path.with_name(f".{path.name}.unfinished")
        self._seen: set[str] = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.unfinished.write_text("", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"task.path={path} cannot be written: {error.strerror}") from error

    @property
    def count(self) -> int:
        """The replies until now."""
        return len(self._seen)

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Append what is new."""
        self._append(record.replies)

    @hookimpl
    def convrag_run_measured(self, run: Run, replies: Sequence[tuple[Prompt, Completion]]) -> None:
        """Append what metrics were told."""
        self._append(replies)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> None:
        """Put the file into its place."""
        self.unfinished.replace(self.path)

    def discard(self) -> None:
        """Drop what is unfinished; what was there before stays."""
        self.unfinished.unlink(missing_ok=True)

    def _append(self, replies: Sequence[tuple[Prompt, Completion]]) -> None:
        """Of two replies to one prompt, say of two models, the first is kept."""
        with self.unfinished.open("a", encoding="utf-8") as file:
            for prompt, completion in replies:
                if (key := key_of(prompt)) not in self._seen:
                    self._seen.add(key)
                    file.write(f"{to_line(prompt, completion)}\n")
