"""MLflow through its client alone: no active run, no environment variable, ids found by tags."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient as _Client

from convrag import Cell, ConfigError, Run, RunSummary, Store, Sweep
from convrag.score.summary import read_summary
from convrag.sweep.sweep_file import find_cell_name
from convrag_mlflow.contents import clipped, factors_of, metrics_of, origin, parameters_of, short
from convrag_mlflow.database import alone, located

PARENT, NOTE = "mlflow.parentRunId", "mlflow.note.content"
SWEEP, CELL, KIND = "convrag.sweep", "convrag.cell", "convrag.kind"
_STATES = ("ok", "reused", "failed", "same", "")
_PARAMETERS, _METRICS = 100, 1000  # what MLflow takes at once

for _name in ("alembic", "mlflow"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # Hydra's root level would let their INFO through


class Ledger:
    """Runs in one experiment at one address.

    Raises ConfigError where the address cannot be used.
    """

    def __init__(self, uri: str, name: str, store: Store) -> None:
        try:
            address, files = located(uri)
            with alone(address, files, store):
                self.client: _Client = MlflowClient(tracking_uri=address)
                found = self.client.get_experiment_by_name(name)
                place = files.as_uri() if files else None
                self.experiment: str = found.experiment_id if found else self.client.create_experiment(name, place)
        except (MlflowException, OSError) as error:
            raise ConfigError(f"tracker.uri={uri} cannot be used: {error}") from error

    def start(self, run: Run) -> str:
        """Open the run of a single run or of a cell; one that an earlier try left unfinished is dropped."""
        tags = {KIND: "run", **origin(), "convrag.folder": str(run.folder)}
        if run.sweep:
            cell = run.folder.name
            for former in self._find({KIND: "run", SWEEP: run.sweep, CELL: cell}):
                self.client.delete_run(former)
            parent = self._find({KIND: "sweep", SWEEP: run.sweep})
            tags |= {SWEEP: run.sweep, CELL: cell} | ({PARENT: parent[0]} if parent else {})
        tags |= {f"fingerprint.{place}": value for place, value in run.fingerprints.items()}
        run_id = self._create_run(short(find_cell_name(run.folder)) or run.folder.name, tags)
        self._log(run_id, parameters=parameters_of(run.config))
        for place, text in run.prompts.items():
            self.client.log_text(run_id, text, f"prompts/{place}.jinja")
        self.client.log_dict(run_id, dict(run.config), "config.yaml")
        return run_id

    def finish(self, run_id: str, folder: Path, summary: RunSummary, *, files: bool) -> None:
        """Log scores, counts and files, and close the run."""
        self._log(run_id, metrics=metrics_of(summary))
        if files:
            self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, "FAILED" if summary.stopped else "FINISHED")

    def fail(self, run_id: str, error: str) -> None:
        """Close a run that did not come to its end, with the reason."""
        self.client.set_tag(run_id, "convrag.error", clipped(error, 5000))
        self.client.log_text(run_id, error, "error.txt")
        self.client.set_terminated(run_id, "FAILED")

    def start_sweep(self, sweep: Sweep) -> None:
        """Open the parent run, or go on with the one that is there."""
        tags = {KIND: "sweep", SWEEP: sweep.id}
        if found := self._find(tags):
            self.client.update_run(found[0], status="RUNNING")
        else:
            factors = factors_of(sweep)
            name = f"grid {' x '.join(factors)} ({sweep.id})"
            run_id = self._create_run(name, {**tags, **origin(), "convrag.folder": str(sweep.folder)})
            self._log(run_id, parameters=factors)

    def finish_sweep(self, sweep: Sweep) -> None:
        """Close the parent run, with the reports that stand in the sweep's folder."""
        for run_id in self._find({KIND: "sweep", SWEEP: sweep.id}):
            for path in sorted(sweep.folder.glob("*")):  # the folder is gone where no cell was begun
                if path.is_file() and path.suffix != ".lock":
                    self.client.log_artifact(run_id, str(path))
            if (board := sweep.folder / "leaderboard.md").exists():
                self.client.set_tag(run_id, NOTE, clipped(board.read_text(encoding="utf-8"), 5000))
            states = [cell.state for cell in sweep.cells]
            counts = {f"cells_{state or 'left'}": float(states.count(state)) for state in _STATES}
            self._log(run_id, metrics=[(name, value, 0) for name, value in counts.items()])
            status = "KILLED" if sweep.interrupted else "FAILED" if "failed" in states else "FINISHED"
            self.client.set_terminated(run_id, status)

    def has_finished(self, cell: Cell) -> bool:
        """Whether a finished run of this cell is here."""
        found = self._find({KIND: "run", CELL: cell.id})
        return any(self.client.get_run(run_id).info.status == "FINISHED" for run_id in found)

    def fail_cell(self, sweep: Sweep, cell: Cell) -> None:
        """See that a failed cell has a run that says so, with its traceback."""
        found = self._find({KIND: "run", SWEEP: sweep.id, CELL: cell.id})
        run_id = found[0] if found else self._start_cell(sweep, cell)
        path = cell.folder / "error.txt"
        self.fail(run_id, path.read_text(encoding="utf-8") if path.exists() else cell.error)

    def kill_cell(self, sweep: Sweep, cell: Cell) -> None:
        """Close what the process of this cell left open when it ended."""
        for run_id in self._find({KIND: "run", SWEEP: sweep.id, CELL: cell.id}):
            if self.client.get_run(run_id).info.status == "RUNNING":
                self.client.set_terminated(run_id, "KILLED")

    def log_done(self, sweep: Sweep, cell: Cell, *, files: bool) -> None:
        """Log a finished cell from its folder."""
        run_id = self._start_cell(sweep, cell)
        self.finish(run_id, cell.folder, read_summary(cell.folder / "metrics.json"), files=files)

    def _start_cell(self, sweep: Sweep, cell: Cell) -> str:
        parent = self._find({KIND: "sweep", SWEEP: sweep.id})
        tags = {KIND: "run", SWEEP: sweep.id, CELL: cell.id, **origin()} | ({PARENT: parent[0]} if parent else {})
        run_id = self._create_run(short(cell.name) or cell.id, tags)
        self._log(run_id, parameters=dict(override.partition("=")[::2] for override in cell.overrides))
        return run_id

    def _create_run(self, name: str, tags: Mapping[str, str]) -> str:
        short = {key: clipped(value, 5000) for key, value in tags.items()}
        return str(self.client.create_run(self.experiment, tags=short, run_name=name).info.run_id)

    def _find(self, tags: Mapping[str, str]) -> list[str]:
        """The ids of the runs with these tags, newest first."""
        wanted = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        return [run.info.run_id for run in self.client.search_runs([self.experiment], wanted)]

    def _log(
        self,
        run_id: str,
        *,
        parameters: Mapping[str, str] | None = None,
        metrics: list[tuple[str, float, int]] | None = None,
    ) -> None:
        """Log in batches of what MLflow takes at once."""
        params: list[Any] = [Param(key[:250], clipped(value, 6000)) for key, value in (parameters or {}).items()]
        values: list[Any] = [Metric(name[:250], value, 0, step) for name, value, step in metrics or []]
        for start in range(0, len(params), _PARAMETERS):
            self.client.log_batch(run_id, params=params[start : start + _PARAMETERS])
        for start in range(0, len(values), _METRICS):
            self.client.log_batch(run_id, metrics=values[start : start + _METRICS])
