"""`tracker=mlflow`: what is logged at which event."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from convrag import ConfigError, Question, Report, Run, RunSummary, Store, Tracker, TurnRecord, hookimpl
from convrag.sdk.files import writing
from convrag.sdk.types import Sweep
from convrag_mlflow.addresses import check_database, redact_uri, resolve_uri
from convrag_mlflow.connection import Connection
from convrag_mlflow.conversation_traces import SUFFIX, ConversationTraces, TraceWriter, TurnTrace
from convrag_mlflow.installation import MODULES, find_problem
from convrag_mlflow.journal import Entry, Journal
from convrag_mlflow.run_data import describe_run
from convrag_mlflow.run_turns import RunTurns

log = logging.getLogger(__name__)


class MlflowTracker(Tracker):
    """Log every run, and every grid as a parent run with a run for each cell, to MLflow.

    A run holds every parameter, the scores overall, per domain and per turn position (as steps), times, tokens, costs
    and calls, the prompts, and the run's files. The same grid again goes on in the same parent run. Look at it with
    `mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db`. Nothing is sent anywhere but to the tracking address.

    A grid is in MLflow from its start; so is a single run where the address is a server's. On this disk, a single run
    is logged when its results have been shown. One that was killed, or could not be logged, is logged by the next
    command.

    Args:
        uri: MLflow's tracking address; a database below outputs/ unless given. One with a password comes from the
            environment: '${oc.env:MY_VARIABLE}'.
        experiment: the experiment's name in MLflow.
        files: whether the run's files are copied to MLflow.
        traces: whether each turn is a trace, with its stages and the calls of language models; those of task=chat and
            task=serve, too, in an experiment of their own ("convrag conversations").
    """

    requires: ClassVar[Mapping[str, str]] = MODULES

    def __init__(
        self,
        *,
        store: Store,
        uri: str = "sqlite:///outputs/mlflow.db",
        experiment: str = "convrag",
        files: bool = True,
        traces: bool = False,
    ) -> None:
        self.uri = uri
        self.experiment = experiment
        self.files = files
        self.traces = traces
        self._connection = Connection(uri, experiment, store)
        self._conversations = TraceWriter(Connection(uri, experiment + SUFFIX, store, traces=True))
        self._pipelines: dict[tuple[int, str], ConversationTraces] = {}
        self._open_turns: dict[int, TurnTrace] = {}
        self._runs: dict[Path, str] = {}
        self._entries: dict[Path, Entry] = {}
        self._turns = RunTurns()

    def check(self) -> Iterable[str]:
        """Whether the parts of MLflow that are installed fit together."""
        if problem := find_problem():
            yield problem

    @hookimpl
    def convrag_conversations_started(self, config: Mapping[str, Any], model: str) -> None:
        """Make the turns of a pipeline traces; a server is connected to at once, a database in a thread."""
        if not self.traces:
            return
        if self._has_database():
            check_database(self.uri)
        else:
            self._conversations.connection.open()
        self._pipelines[id(config), model] = ConversationTraces(self._conversations, config, model)

    @hookimpl
    def convrag_turn_started(self, question: Question, config: Mapping[str, Any], model: str) -> None:
        """Begin to note a turn of a conversation; of a run, its stages alone are noted."""
        if pipeline := self._pipelines.get((id(config), model)):
            self._open_turns[id(question)] = pipeline.begin_turn(question)

    @hookimpl
    def convrag_stage_finished(self, question: Question, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended."""
        if turn := self._open_turns.get(id(question)):
            turn.end_stage(stage, record)
        else:
            self._turns.end_stage(stage, record)

    @hookimpl
    def convrag_turn_ended(self, question: Question, record: TurnRecord) -> None:
        """Have a turn of a conversation written."""
        if turn := self._open_turns.pop(id(question), None):
            turn.end_turn(record)

    @hookimpl
    def convrag_conversations_ended(self, seconds: float) -> str | None:
        """Wait until all turns are written; where they can be seen."""
        return self._conversations.flush(seconds) or None

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        """Create the run, with its parameters and prompts; note a single run that a database on disk will have."""
        if self.traces:
            self._turns.watch(run)
        journal = None if run.sweep else self._journal()
        if not journal:
            with writing(f"tracker.uri={redact_uri(self.uri, self.uri)}"):
                self._runs[run.folder] = self._connection.open().start_run(run)
            return
        try:
            check_database(self.uri)
            row = {"experiment": self.experiment, "files": self.files, **describe_run(run)}
            entry = self._entries[run.folder] = journal.start(row)
            self._turns.keep(run, entry.turns)
        except OSError as error:
            raise ConfigError(f"tracker.uri={self.uri} cannot be used: {error}") from error

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Note the turn, where it becomes a trace."""
        self._turns.add(run, record)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Log traces, scores and files, and end the run."""
        try:
            if run_id := self._runs.get(run.folder):
                self._log_traces(run, run_id)
                self._connection.open().finish_run(run_id, run.folder, summary, files=self.files)
                del self._runs[run.folder]  # not before: it may be interrupted meanwhile
            elif entry := self._entries.get(run.folder):
                entry.end()
                self._turns.drop(run)
                self._log_due_runs()
                del self._entries[run.folder]
        except Exception as error:
            return self._explain(error, "The next command tries again.")
        return None if run.sweep else self._connection.describe()

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str, interrupted: bool) -> None:
        """End the run as failed, or as killed where it was interrupted: one that is only noted waits for a command."""
        try:
            if run_id := self._runs.pop(run.folder, None):
                if not interrupted:
                    self._log_traces(run, run_id)
                self._connection.open().fail_run(run_id, error, killed=interrupted)
            elif entry := self._entries.pop(run.folder, None):
                if not entry.has_ended:  # else it was interrupted while it was logged
                    entry.end(error, interrupted=interrupted)
                if not interrupted:  # importing MLflow takes too long
                    self._log_due_runs()
        except Exception as problem:
            log.warning(self._explain(problem))
        finally:
            self._turns.drop(run)

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        """Create the grid's parent run, or continue that of an earlier start of the same grid."""
        from convrag_mlflow.grid_runs import GridRuns

        with writing(f"tracker.uri={redact_uri(self.uri, self.uri)}"):
            self._log_due_runs()
            GridRuns(self._connection.open(), sweep, files=self.files).start()

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> str:
        """Complete the runs of the cells, and end the parent run."""
        try:
            from convrag_mlflow.grid_runs import GridRuns

            GridRuns(self._connection.open(), sweep, files=self.files).finish()
        except Exception as error:
            return self._explain(error, "The same command logs what is missing.")
        return self._connection.describe()

    def _log_traces(self, run: Run, run_id: str) -> None:
        """Log the traces of a run that is in MLflow already."""
        if self._turns.has(run):
            self._connection.open().log_traces(run_id, self._turns.take(run), run.config)

    def _log_due_runs(self) -> None:
        from convrag_mlflow.due_runs import log_due_runs

        log_due_runs(self._connection.open(), self._journal())

    def _journal(self) -> Journal | None:
        """Where single runs are noted until they are logged; None where they are logged at once."""
        _, artifacts = resolve_uri(self.uri)
        return Journal(artifacts / "unlogged") if artifacts else None

    def _has_database(self) -> bool:
        """Whether the address is a database on disk, not a server's."""
        return resolve_uri(self.uri)[1] is not None

    def _explain(self, error: Exception, advice: str = "") -> str:
        """A line for the user: why something is not logged."""
        return f"Not logged to MLflow: {self._connection.explain(error)}. {advice}".rstrip()
