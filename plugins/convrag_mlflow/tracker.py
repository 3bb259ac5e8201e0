"""`tracker=mlflow`: what is logged when."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from convrag import Cell, Report, Run, RunSummary, Store, Sweep, Tracker, hookimpl
from convrag.registry.extras import is_installed

if TYPE_CHECKING:
    from convrag_mlflow.ledger import Ledger


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
        self._ledger: Ledger | None = None
        self._runs: dict[Path, str] = {}

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        """Open a run, with its parameters."""
        if ledger := self._open():
            self._runs[run.folder] = ledger.start(run)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> None:
        """Log what it came to, and close it."""
        if ledger := self._open():
            ledger.finish(self._runs.pop(run.folder), run.folder, summary, files=self.files)

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str) -> None:
        """Close a run that did not come to its end."""
        if (ledger := self._open()) and (run_id := self._runs.pop(run.folder, None)):
            ledger.fail(run_id, error)

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        """Open the parent run, or the one that the same command has opened before."""
        if ledger := self._open():
            ledger.start_sweep(sweep)

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> None:
        """See that each cell has its run, and close the parent, in every case."""
        if ledger := self._open():
            for cell in sweep.cells:
                self._settle(ledger, sweep, cell)
            ledger.finish_sweep(sweep)

    def _settle(self, ledger: Ledger, sweep: Sweep, cell: Cell) -> None:
        """Log a cell whose run is not there: it failed before its first turn, or was done for another database.

        Where a grid was interrupted, processes of a launcher are gone without a word.
        """
        if cell.state == "same":
            return  # it has no run of its own
        if cell.state == "failed":
            ledger.fail_cell(sweep, cell)
        elif not cell.state:
            ledger.kill_cell(sweep, cell)
        elif not ledger.has_finished(cell):
            ledger.log_done(sweep, cell, files=self.files)

    def _open(self) -> Ledger | None:
        """The connection, made at its first use; None where nothing is to be kept."""
        with self._lock:
            if self._ledger is None:
                from convrag_mlflow.ledger import Ledger

                self._ledger = Ledger(self.uri, self.experiment, self._store)
            return self._ledger


class AutoTracker(MlflowTracker):
    """Log to MLflow as `tracker=mlflow` does where it is installed; without it keep nothing beside the run's files.

    Args:
        uri: MLflow's tracking address; a database below outputs/ unless given.
        experiment: the experiment's name in MLflow.
        files: whether the run's files are copied to MLflow.
    """

    requires: ClassVar[Mapping[str, str]] = {}

    def _open(self) -> Ledger | None:
        return super()._open() if is_installed("mlflow") else None
