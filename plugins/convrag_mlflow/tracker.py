"""`tracker=mlflow`: what is logged at which event."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from convrag import (
    ConfigError,
    ConvragError,
    Report,
    Run,
    RunSummary,
    Store,
    Sweep,
    Tracker,
    TurnRecord,
    hookimpl,
)
from convrag.store.disk import writing
from convrag_mlflow.addresses import check_database, describe_viewing, redact_uri, resolve_uri
from convrag_mlflow.installation import MODULES, find_problem
from convrag_mlflow.journal import Entry, Journal
from convrag_mlflow.run_data import describe_run
from convrag_mlflow.turn_notes import TurnNotes

if TYPE_CHECKING:
    from convrag_mlflow.experiment import Experiment

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
        traces: whether each turn is a trace, with its stages and the calls of language models.
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
        self._store = store
        self._lock = threading.Lock()
        self._connection: Experiment | None = None
        self._runs: dict[Path, str] = {}
        self._entries: dict[Path, Entry] = {}
        self._turns: dict[Path, TurnNotes] = {}

    def check(self) -> Iterable[str]:
        """Whether the parts of MLflow that are installed fit together."""
        if problem := find_problem():
            yield problem

    def watch_turns(self, run: Run) -> Callable[[str, TurnRecord], None] | None:
        """What notes the stages of the run's turns, where they become traces."""
        if not self.traces:
            return None
        notes = self._turns[run.folder] = TurnNotes()
        return notes.watch

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        """Create the run, with its parameters and prompts; note a single run that a database on disk will have."""
        journal = None if run.sweep else self._journal()
        if not journal:
            with writing(f"tracker.uri={redact_uri(self.uri, self.uri)}"):
                self._runs[run.folder] = self._connect().start_run(run)
            return
        try:
            check_database(self.uri)
            row = {"experiment": self.experiment, "files": self.files, **describe_run(run)}
            entry = self._entries[run.folder] = journal.start(row)
            if notes := self._turns.get(run.folder):
                notes.path = entry.turns
        except OSError as error:
            raise ConfigError(f"tracker.uri={self.uri} cannot be used: {error}") from error

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Note the turn, where it becomes a trace."""
        if notes := self._turns.get(run.folder):
            try:
                notes.add(record)
            except OSError as error:
                log.warning("the turns of this run are not all noted, so that their traces are missing: %s", error)
                self._drop_turns(run)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Log traces, scores and files, and end the run."""
        try:
            if run_id := self._runs.get(run.folder):
                self._log_traces(run, run_id)
                self._connect().finish_run(run_id, run.folder, summary, files=self.files)
                del self._runs[run.folder]  # not before: it may be interrupted meanwhile
            elif entry := self._entries.get(run.folder):
                entry.end()
                self._drop_turns(run)
                self._log_due_runs()
                del self._entries[run.folder]
        except Exception as error:
            return self._explain(error, "The next command tries again.")
        return None if run.sweep else describe_viewing(self.uri, self.experiment, getattr(self._connection, "id", ""))

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str, interrupted: bool) -> None:
        """End the run as failed, or as killed where it was interrupted: one that is only noted waits for a command."""
        try:
            if run_id := self._runs.pop(run.folder, None):
                if not interrupted:
                    self._log_traces(run, run_id)
                self._connect().fail_run(run_id, error, killed=interrupted)
            elif entry := self._entries.pop(run.folder, None):
                if not entry.has_ended:  # else it was interrupted while it was logged
                    entry.end(error, interrupted=interrupted)
                if not interrupted:  # importing MLflow takes too long
                    self._log_due_runs()
        except Exception as problem:
            log.warning(self._explain(problem))
        finally:
            self._drop_turns(run)

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        """Create the grid's parent run, or continue that of an earlier start of the same grid."""
        from convrag_mlflow.grid_runs import GridRuns

        with writing(f"tracker.uri={redact_uri(self.uri, self.uri)}"):
            self._log_due_runs()
            GridRuns(self._connect(), sweep, files=self.files).start()

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> str:
        """Complete the runs of the cells, and end the parent run."""
        try:
            from convrag_mlflow.grid_runs import GridRuns

            GridRuns(self._connect(), sweep, files=self.files).finish()
        except Exception as error:
            return self._explain(error, "The same command logs what is missing.")
        return describe_viewing(self.uri, self.experiment, getattr(self._connection, "id", ""))

    def _log_traces(self, run: Run, run_id: str) -> None:
        """Log the traces of a run that is in MLflow already."""
        if notes := self._turns.get(run.folder):
            self._connect().log_traces(run_id, notes.read(), run.config)
            self._drop_turns(run)

    def _drop_turns(self, run: Run) -> None:
        """Note no more turns of a run; a file with a name stays until its run is logged."""
        if notes := self._turns.pop(run.folder, None):
            notes.close()

    def _log_due_runs(self) -> None:
        from convrag_mlflow.due_runs import log_due_runs

        log_due_runs(self._connect(), self._journal())

    def _journal(self) -> Journal | None:
        """Where single runs are noted until they are logged; None where they are logged at once."""
        _, artifacts = resolve_uri(self.uri)
        return Journal(artifacts / "unlogged") if artifacts else None

    def _connect(self) -> Experiment:
        """The experiment, connected to at the first call. Raises ConfigError."""
        with self._lock:
            if self._connection is None:
                try:
                    from convrag_mlflow.experiment import Experiment
                except ImportError as error:
                    raise ConfigError(f"MLflow cannot be imported: {error}") from error
                self._connection = Experiment(self.uri, self.experiment, self._store)
            return self._connection

    def _explain(self, error: Exception, advice: str = "") -> str:
        """A line for the user: why something is not logged."""
        log.info("not logged to MLflow", exc_info=error)
        reason = str(error) if isinstance(error, ConvragError) else f"{type(error).__name__}: {error}"
        first = reason.strip().partition("\n")[0]
        return redact_uri(f"Not logged to MLflow: {first.rstrip('.')}. {advice}", self.uri).rstrip()
