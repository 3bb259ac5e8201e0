"""A grid in MLflow: a parent run, and a run for each cell, which are found by their tags."""

from convrag.sdk.tasks.grids import METRICS_FILE
from convrag.sdk.tasks.scores import read_summary
from convrag.sdk.types import Cell, Sweep
from convrag_mlflow.experiment import CELL, KIND, PARENT, STATE, SWEEP, Experiment
from convrag_mlflow.run_data import clip_text, find_factors, read_dataset, shorten_name, version_tags

_NOTE = "mlflow.note.content"
_STATES = ("ok", "reused", "partial", "failed", "same", "")


class GridRuns:
    """The runs of one grid.

    Args:
        experiment: has them.
        sweep: the grid.
        files: whether the files of cells are copied to MLflow.
    """

    def __init__(self, experiment: Experiment, sweep: Sweep, *, files: bool) -> None:
        self.experiment = experiment
        self.client = experiment.client
        self.sweep = sweep
        self.files = files

    def start(self) -> None:
        """Create the parent run, or continue the one that is there."""
        if found := self._find_parents():
            self.client.update_run(found[0], status="RUNNING")
        else:
            factors = find_factors(self.sweep)
            name = f"grid {' x '.join(factors)} ({self.sweep.id})"
            tags = {KIND: "sweep", SWEEP: self.sweep.id, **version_tags(), "convrag.folder": str(self.sweep.folder)}
            self.experiment.log_values(self.experiment.create_run(name, tags), parameters=factors)

    def finish(self) -> None:
        """Complete the runs of the cells, log the reports in the grid's folder to the parent run, and end it."""
        if self.sweep.interrupted:  # at once: the process may be ended before the rest is logged
            for run_id in self._find_parents():
                self.client.set_terminated(run_id, "KILLED")
        for cell in self.sweep.cells:
            self._complete_cell(cell)
        for run_id in self._find_parents():
            for path in sorted(self.sweep.folder.glob("*")):  # the folder is gone where no cell was begun
                if path.is_file() and path.suffix != ".lock":
                    self.client.log_artifact(run_id, str(path))
            self.experiment.log_datasets(run_id, (read_dataset(cell.folder) for cell in self.sweep.cells))
            if (board := self.sweep.folder / "leaderboard.md").exists():
                self.client.set_tag(run_id, _NOTE, clip_text(board.read_text(encoding="utf-8"), 5000))
            states = [cell.state for cell in self.sweep.cells]
            counts = {f"cells_{state or 'left'}": float(states.count(state)) for state in _STATES}
            tries = len(self.client.get_metric_history(run_id, "cells_left"))  # MLflow shows the value of the last step
            self.experiment.log_values(run_id, metrics=[(name, value, tries) for name, value in counts.items()])
            state = next((state for state in ("failed", "partial") if state in states), "ok")
            self.client.set_tag(run_id, STATE, state)
            status = "KILLED" if self.sweep.interrupted else "FAILED" if state == "failed" else "FINISHED"
            self.client.set_terminated(run_id, status)

    def _complete_cell(self, cell: Cell) -> None:
        """Log what a cell's own process has not.

        It failed before its first turn, it could not log, or its finished run is reused and stands in another database.
        A cell that has no state was not run to its end, and one that is the same as another has no run of its own.
        """
        if cell.state == "failed":
            self._fail_cell(cell)
        elif cell.state and cell.state != "same" and not self._has_finished_run(cell):
            self._log_finished_cell(cell)

    def _has_finished_run(self, cell: Cell) -> bool:
        """Whether the experiment has a finished run of this cell, of whatever grid."""
        found = self.experiment.find_runs({KIND: "run", CELL: cell.id})
        return any(self.client.get_run(run_id).info.status == "FINISHED" for run_id in found)

    def _fail_cell(self, cell: Cell) -> None:
        """End a failed cell's run as failed, with the traceback; one that failed before its run began gets a run."""
        found = self._find_runs(cell)
        run_id = found[0] if found else self._create_run(cell)
        path = cell.folder / "error.txt"
        self.experiment.fail_run(run_id, path.read_text(encoding="utf-8") if path.exists() else cell.error)

    def _log_finished_cell(self, cell: Cell) -> None:
        """Log a finished cell that has no finished run here, from the files in its folder."""
        self.experiment.delete_runs({KIND: "run", SWEEP: self.sweep.id, CELL: cell.id})
        summary = read_summary(cell.folder / METRICS_FILE)
        run_id = self._create_run(cell)
        self.experiment.log_datasets(run_id, [read_dataset(cell.folder)])
        self.experiment.finish_run(run_id, cell.folder, summary, files=self.files)

    def _create_run(self, cell: Cell) -> str:
        parent = self._find_parents()
        tags = {KIND: "run", SWEEP: self.sweep.id, CELL: cell.id, **version_tags()}
        tags |= {PARENT: parent[0]} if parent else {}
        run_id = self.experiment.create_run(shorten_name(cell.name) or cell.id, tags)
        factors = dict(override.partition("=")[::2] for override in cell.overrides)
        self.experiment.log_values(run_id, parameters=factors)
        return run_id

    def _find_parents(self) -> list[str]:
        return self.experiment.find_runs({KIND: "sweep", SWEEP: self.sweep.id})

    def _find_runs(self, cell: Cell) -> list[str]:
        return self.experiment.find_runs({KIND: "run", SWEEP: self.sweep.id, CELL: cell.id})
