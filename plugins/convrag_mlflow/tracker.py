"""`tracker=mlflow` and `tracker=auto`: the events at which something is logged."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from convrag import ConfigError, Question, Report, Run, RunSummary, Tracker, TurnRecord, hookimpl
from convrag.sdk.files import writing
from convrag.sdk.output.turn_spans import TurnTrace
from convrag.sdk.types import Sweep
from convrag_mlflow.addresses import make_folder, redact_uri, resolve_uri
from convrag_mlflow.connection import MODULES, Connection, find_problem, is_refusal
from convrag_mlflow.experiment_state import find_obstacle
from convrag_mlflow.stage_options import describe_options
from convrag_mlflow.turn_trace import SUFFIX, RunTurns, TraceWriter, make_trace

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class MlflowTracker(Tracker):
    """Log every run, and every grid as a parent run with a run for each cell, to MLflow.

    A run holds every parameter, the scores overall, per domain and per turn position (as steps),
    times, tokens, costs and calls, the prompts, and the run's files. The same grid again goes on in
    the same parent run. Look at it with `mlflow ui --backend-store-uri
    sqlite:///outputs/mlflow.db`. Nothing is sent anywhere but to the tracking address.

    A grid is in MLflow from its start, a run when its results have been shown. One that was killed
    or interrupted, or could not be logged, is logged by the same command again.

    Args:
        uri: MLflow's tracking address; a database below outputs/ unless given. One with a password
            comes from the environment: '${oc.env:MY_VARIABLE}'.
        experiment: the experiment's name in MLflow.
        files: whether the run's files are copied to MLflow.
        traces: whether each turn is a trace, with its stages and the calls of language models;
            those of task=chat and task=serve, too, in an experiment of their own ("convrag
            conversations").
    """

    requires: ClassVar[Mapping[str, str]] = MODULES

    uri: str = "sqlite:///outputs/mlflow.db"
    experiment: str = "convrag"
    files: bool = True
    traces: bool = False

    def __post_init__(self) -> None:
        self._connection = Connection(self.uri, self.experiment)
        self._conversations = TraceWriter(
            Connection(self.uri, self.experiment + SUFFIX, traces=True)
        )
        self._started: dict[Path, int] = {}
        self._turns: dict[Path, RunTurns] = {}
        self._takers: dict[int, Callable[[TurnTrace, TurnRecord], None]] = {}
        self._running: dict[int, TurnTrace] = {}

    @cached_property
    def _problem(self) -> str:
        """The reason why nothing can be logged; empty if it can."""
        return find_problem()

    def check(self) -> Iterable[str]:
        """Say what has to be installed, and why the experiment takes no runs."""
        if self._problem:
            yield self._problem
        else:
            yield from self._check_experiment()

    @hookimpl
    def convrag_conversations_started(self, config: Mapping[str, Any], model: str) -> None:
        """Begin to write the turns of a pipeline as traces.

        A server is connected to at once, a database in a thread.
        """
        if not self.traces or self._problem:
            return
        self._check_address(self._conversations.connection)
        self._conversations.start()  # MLflow is imported while the first question is typed
        tags = {"convrag.configuration": describe_options(config), "convrag.model": model}

        def write(turn: TurnTrace, record: TurnRecord) -> None:
            self._conversations.add(make_trace(turn, record, tags))

        self._takers[id(config)] = write

    @hookimpl
    def convrag_conversations_ended(self, seconds: float) -> str | None:
        """Wait until all turns are written, and say where they can be seen.

        A warning says how many could not be written in time.
        """
        left = self._conversations.flush(seconds)
        if left:
            message = "the traces of %d turns are not in MLflow: it has not taken them in %.1f s"
            log.warning(message, left, seconds)
            return None
        if not self._conversations.has_written:
            return None
        return self._conversations.connection.describe()

    @hookimpl
    def convrag_turn_started(self, question: Question, config: Mapping[str, Any]) -> None:
        """Begin to note a turn, where it becomes a trace."""
        if id(config) in self._takers:
            self._running[id(question)] = TurnTrace(config, question)

    @hookimpl
    def convrag_stage_finished(self, question: Question, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended."""
        if id(question) in self._running:
            self._running[id(question)].end_stage(stage, record)

    @hookimpl
    def convrag_turn_ended(self, question: Question, record: TurnRecord) -> None:
        """Note that a turn has ended; one of a conversation is written."""
        turn = self._running.pop(id(question), None)
        if turn is None:
            return
        turn.end()
        take = self._takers.get(id(turn.config))
        if take:
            take(turn, record)

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        """Note when the run starts. Raises ConfigError if the address cannot be used."""
        if self._problem:
            return
        self._check_address(self._connection)
        self._started[run.folder] = _now()
        if self.traces:
            turns = RunTurns()
            self._turns[run.folder] = turns
            self._takers[id(run.config)] = turns.note

    @hookimpl
    def convrag_turn_finished(self, run: Run, record: TurnRecord) -> None:
        """Note the turn, where it becomes a trace."""
        if turns := self._turns.get(run.folder):
            turns.add(record)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Log the run: parameters and prompts, traces, scores and files."""
        if self._problem:
            return None if run.sweep else f"Not logged to MLflow: {self._problem}"
        try:
            ended = _now()
            experiment = self._connection.open()
            run_id = self._start_run(run)
            experiment.finish_run(run_id, run.folder, summary, files=self.files, ended=ended)
        except Exception as error:
            return self._explain(error)
        return None if run.sweep else self._connection.describe()

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str, interrupted: bool) -> None:
        """Log a failed run with its error.

        An interrupted one is not logged: it has to end at once, and importing MLflow takes seconds.
        """
        try:
            if not interrupted and not self._problem:
                ended = _now()
                self._connection.open().fail_run(self._start_run(run), error, ended)
        except Exception as problem:
            log.warning(self._explain(problem))
        finally:
            self._forget_turns(run)

    @hookimpl
    def convrag_sweep_check(self, sweep: Sweep) -> list[str]:
        """Say why a server's experiment takes no runs; `check` looks at a database on disk."""
        if self._problem:
            return []
        try:
            self._check_address(self._connection)
        except ConfigError as error:
            return [str(error)]
        return []

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        """Create the grid's parent run, or continue that of an earlier start of the same grid.

        Raises ConfigError where MLflow refuses it.
        """
        if self._problem:
            return
        from mlflow.exceptions import MlflowException

        from convrag_mlflow.grid_runs import GridRuns

        address = f"tracker.uri={redact_uri(self.uri, self.uri)}"
        try:
            with writing(address):
                GridRuns(self._connection.open(), sweep, files=self.files).start()
        except MlflowException as error:
            raise ConfigError(f"{address}: {self._connection.explain(error)}") from error

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> str:
        """Complete the runs of the cells, and end the parent run."""
        if self._problem:
            return (
                f"Not logged to MLflow: {self._problem}. The same command logs what is there, then."
            )
        try:
            from convrag_mlflow.grid_runs import GridRuns

            GridRuns(self._connection.open(), sweep, files=self.files).finish()
        except Exception as error:
            return self._explain(error)
        return self._connection.describe()

    def _start_run(self, run: Run) -> str:
        """Create the run, with the traces of its turns."""
        experiment = self._connection.open()
        run_id = experiment.start_run(run, self._started.pop(run.folder))
        if turns := self._turns.get(run.folder):
            try:
                experiment.traces.write(turns.read(), run_id)
            except Exception as error:  # no trace is worth a run
                reason = self._connection.explain(error)
                log.warning(
                    "the traces of the run %s are not in MLflow, or not all: %s", run_id, reason
                )
            self._forget_turns(run)
        return run_id

    def _forget_turns(self, run: Run) -> None:
        if turns := self._turns.pop(run.folder, None):
            del self._takers[id(run.config)]
            turns.close()

    def _check_experiment(self) -> Iterable[str]:
        """Say why the experiment takes no runs."""
        obstacle = find_obstacle(self.uri, self.experiment)
        if obstacle:
            yield obstacle

    def _check_address(self, connection: Connection) -> None:
        """Raise ConfigError if the address or the experiment cannot be used.

        A server is connected to.
        """
        if resolve_uri(self.uri)[1] is None:
            connection.open()
            return
        obstacle = find_obstacle(self.uri, connection.name)
        if obstacle:
            raise ConfigError(obstacle)
        make_folder(self.uri)

    def _explain(self, error: Exception) -> str:
        """Return a line for the user that says why something is not logged."""
        reason = self._connection.explain(error)
        if is_refusal(error):
            return f"Not logged to MLflow, or not all: {reason}."
        return f"Not logged to MLflow: {reason}. The same command again logs it."


class AutoTracker(MlflowTracker):
    """Log to MLflow as `tracker=mlflow` does if it is installed; otherwise log nothing."""

    requires: ClassVar[Mapping[str, str]] = {}

    def check(self) -> Iterable[str]:
        """Say why there can be no traces, and why the experiment takes no runs.

        Without MLflow, a run's last line says so.
        """
        if self.traces and self._problem:
            yield f"{{place}}.traces=true: {self._problem}"
        if not self._problem:
            yield from self._check_experiment()


def _now() -> int:
    """Return the time in milliseconds since the epoch."""
    return int(time.time() * 1000)
