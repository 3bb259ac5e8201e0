"""`tracker=mlflow` and `tracker=auto`: what is logged at which event."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from convrag import Cell, Report, Run, RunSummary, Store, Sweep, Tracker, hookimpl
from convrag.registry.extras import is_installed
from convrag.store.disk import writing

if TYPE_CHECKING:
    from convrag_mlflow.experiment import Experiment


class MlflowTracker(Tracker):
    """Log every run, and every grid as a parent run with a run for each cell, to MLflow.

    A run holds every parameter, the scores overall, per domain and per turn position (as steps), times, tokens, costs
    and calls, the prompts, and the run's files. The same grid again goes on in the same parent run. Look at it with
    `mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db`. Nothing is sent anywhere but to the tracking address.

    Args:
        uri: MLflow's tracking address; a database below outputs/ unless given.
        experiment: the experiment's name in MLflow.
        files: whether the run's files are copied to MLflow.
    """

    requires: ClassVar[Mapping[str, str]] = {"mlflow": "convrag[mlflow]"}

    def __init__(
        self,
        *,
        store: Store,
        uri: str = "sqlite:///outputs/mlflow.db",
        experiment: str = "convrag",
        files: bool = True,
    ) -> None:
        self.uri = uri
        self.experiment = experiment
        self.files = files
        self._store = store
        self._lock = threading.Lock()
        self._connection: Experiment | None = None
        self._runs: dict[Path, str] = {}

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        """Create the run, with its parameters and prompts."""
        if experiment := self._connect():
            with writing(f"tracker.uri={self.uri}"):
                self._runs[run.folder] = experiment.start_run(run)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> None:
        """Log scores and files, and end the run."""
        if experiment := self._connect():
            with writing(f"tracker.uri={self.uri}"):
                experiment.finish_run(self._runs[run.folder], run.folder, summary, files=self.files)
            del self._runs[run.folder]  # not before: it may be interrupted meanwhile

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str, interrupted: bool) -> None:
        """End the run as failed, or as killed where it was interrupted."""
        if (experiment := self._connect()) and (run_id := self._runs.pop(run.folder, None)):
            with writing(f"tracker.uri={self.uri}"):
                experiment.fail_run(run_id, error, killed=interrupted)

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        """Create the grid's parent run, or continue that of an earlier start of the same grid."""
        if experiment := self._connect():
            with writing(f"tracker.uri={self.uri}"):
                experiment.start_sweep(sweep)

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> None:
        """Complete the runs of the cells, and end the parent run."""
        if experiment := self._connect():
            for cell in sweep.cells:
                self._complete_cell(experiment, sweep, cell)
            experiment.finish_sweep(sweep)

    def _complete_cell(self, experiment: Experiment, sweep: Sweep, cell: Cell) -> None:
        """Log what a cell's own process could not.

        It failed before its first turn, its process ended when the grid was interrupted, or its finished run is
        reused and stands in another database.
        """
        if cell.state == "same":
            return  # it has no run of its own
        if cell.state == "failed":
            experiment.fail_cell(sweep, cell)
        elif not cell.state:
            experiment.kill_cell(sweep, cell)
        elif not experiment.has_finished_run(cell):
            experiment.log_finished_cell(sweep, cell, files=self.files)

    def _connect(self) -> Experiment | None:
        """The experiment, connected to at the first call; None where nothing is to be logged."""
        with self._lock:
            if self._connection is None:
                from convrag_mlflow.experiment import Experiment

                with writing(f"tracker.uri={self.uri}"):
                    self._connection = Experiment(self.uri, self.experiment, self._store)
            return self._connection


class AutoTracker(MlflowTracker):
    """Log to MLflow as `tracker=mlflow` does where it is installed; without it keep nothing beside the run's files.

    Args:
        uri: MLflow's tracking address; a database below outputs/ unless given.
        experiment: the experiment's name in MLflow.
        files: whether the run's files are copied to MLflow.
    """

    requires: ClassVar[Mapping[str, str]] = {}

    def _connect(self) -> Experiment | None:
        return super()._connect() if is_installed("mlflow") else None
