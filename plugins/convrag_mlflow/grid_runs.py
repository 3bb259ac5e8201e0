"""A grid in MLflow: a parent run, and a run for each cell."""

from collections import Counter

from mlflow.exceptions import MlflowException

from convrag.sdk.folders import hold_abandoned
from convrag.sdk.tasks.grids import METRICS_FILE
from convrag.sdk.tasks.scores import read_summary
from convrag.sdk.types import Cell, Sweep
from convrag_mlflow.connection import is_refusal
from convrag_mlflow.experiment import CELL, FOLDER, KIND, PARENT, STATE, SWEEP, Experiment
from convrag_mlflow.run_data import (
    clip_text,
    find_factors,
    read_dataset,
    shorten_name,
    version_tags,
)

_NOTE = "mlflow.note.content"
_STATES = ("ok", "reused", "partial", "failed", "same", "")
"""The states of cells; empty for one that was not run to its end."""


class GridRuns:
    """The runs of one grid.

    Args:
        experiment: the experiment that has them.
        sweep: the grid.
        files: whether the files of cells are copied to MLflow.
    """

    def __init__(self, experiment: Experiment, sweep: Sweep, *, files: bool) -> None:
        self.experiment = experiment
        self.client = experiment.client
        self.sweep = sweep
        self.files = files

    def start(self) -> None:
        """Create the parent run, or continue the one that is there; abandoned runs end."""
        self.experiment.end_abandoned(self.sweep.folder.absolute())
        parents = self._find_parents()
        if parents:
            self.client.update_run(parents[0], status="RUNNING")
            return
        factors = find_factors(self.sweep)
        name = f"grid {' x '.join(factors)} ({self.sweep.id})"
        tags = {
            KIND: "sweep",
            SWEEP: self.sweep.id,
            **version_tags(),
            FOLDER: str(self.sweep.folder.absolute()),
        }
        self.experiment.log_values(self.experiment.create_run(name, tags), parameters=factors)

    def finish(self) -> None:
        """Complete the runs of the cells, log the grid's reports to the parent run, and end it.

        A cell that MLflow refuses does not keep the others from being logged.

        Raises:
            MlflowException: MLflow has refused something; the rest is logged.
        """
        if self.sweep.interrupted:  # at once: the process may be ended before the rest is logged
            for run_id in self._find_parents():
                self.client.set_terminated(run_id, "KILLED")
        refusals = []
        for cell in self.sweep.cells:
            try:
                self._complete_cell(cell)
            except MlflowException as error:
                if not is_refusal(error):
                    raise  # a server that is gone would be waited for with every cell
                refusals.append(error)
        for run_id in self._find_parents():
            self._log_reports(run_id)
            self._log_states(run_id)
        if refusals:
            raise refusals[0]

    def _log_reports(self, run_id: str) -> None:
        """Log the files in the grid's folder, which is gone if no cell was begun."""
        folder = self.sweep.folder
        for path in sorted(folder.glob("*")):
            if path.is_file() and path.suffix != ".lock":
                self.client.log_artifact(run_id, str(path))
        datasets = [read_dataset(cell.folder) for cell in self.sweep.cells]
        self.experiment.log_datasets(run_id, datasets)
        board = folder / "leaderboard.md"
        if board.exists():
            note = clip_text(board.read_text(encoding="utf-8"), 5000)
            self.client.set_tag(run_id, _NOTE, note)

    def _log_states(self, run_id: str) -> None:
        """Log how many cells are in which state, and end the parent run."""
        counts = Counter(cell.state for cell in self.sweep.cells)
        # MLflow shows the value of the last step, so each try is a step
        step = len(self.client.get_metric_history(run_id, "cells_left"))
        metrics = [(f"cells_{state or 'left'}", float(counts[state]), step) for state in _STATES]
        self.experiment.log_values(run_id, metrics=metrics)
        state = "ok"
        status = "FINISHED"
        if counts["failed"]:
            state = "failed"
            status = "FAILED"
        elif counts["partial"]:
            state = "partial"
        if self.sweep.interrupted:
            status = "KILLED"
        self.client.set_tag(run_id, STATE, state)
        self.client.set_terminated(run_id, status)

    def _complete_cell(self, cell: Cell) -> None:
        """Log what a cell's own process has not logged.

        The cell failed before its first turn, its process could not log, or its finished run is
        reused and is in another database. A cell without a state was not run to its end, and one
        that is the same as another has no run of its own.
        """
        with hold_abandoned(cell.folder):  # else others take its run for one of a killed process
            if cell.state == "failed":
                self._fail_cell(cell)
            elif cell.state not in ("", "same") and not self._has_finished_run(cell):
                self._log_finished_cell(cell)

    def _has_finished_run(self, cell: Cell) -> bool:
        """Return whether the experiment has a finished run of this cell, in whatever grid."""
        found = self.experiment.find_runs({KIND: "run", CELL: cell.id})
        return any(self.client.get_run(run_id).info.status == "FINISHED" for run_id in found)

    def _fail_cell(self, cell: Cell) -> None:
        """End a cell's run as failed, with the traceback; one that failed early gets a run."""
        found = self.experiment.find_runs({KIND: "run", SWEEP: self.sweep.id, CELL: cell.id})
        run_id = found[0] if found else self._create_run(cell)
        path = cell.folder / "error.txt"
        error = path.read_text(encoding="utf-8") if path.exists() else cell.error
        self.experiment.fail_run(run_id, error)

    def _log_finished_cell(self, cell: Cell) -> None:
        """Log a finished cell that has no finished run here, from the files in its folder."""
        self.experiment.delete_runs({KIND: "run", SWEEP: self.sweep.id, CELL: cell.id})
        summary = read_summary(cell.folder / METRICS_FILE)
        run_id = self._create_run(cell)
        self.experiment.log_datasets(run_id, [read_dataset(cell.folder)])
        self.experiment.finish_run(run_id, cell.folder, summary, files=self.files)

    def _create_run(self, cell: Cell) -> str:
        tags = {KIND: "run", SWEEP: self.sweep.id, CELL: cell.id, **version_tags()}
        tags[FOLDER] = str(cell.folder.absolute())
        parents = self._find_parents()
        if parents:
            tags[PARENT] = parents[0]
        run_id = self.experiment.create_run(shorten_name(cell.name) or cell.id, tags)
        factors = {}
        for override in cell.overrides:
            name, _, value = override.partition("=")
            factors[name] = value
        try:
            self.experiment.log_values(run_id, parameters=factors)
        except MlflowException as error:
            if is_refusal(error):
                self.client.set_terminated(run_id, "FAILED")
            raise
        return run_id

    def _find_parents(self) -> list[str]:
        return self.experiment.find_runs({KIND: "sweep", SWEEP: self.sweep.id})
