"""An experiment in MLflow, used through its client alone: without active runs, and with runs that are found by tags."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient as _Client

from convrag import Cell, ConfigError, Run, RunSummary, Store, Sweep
from convrag.score.endings import describe_gaps
from convrag.score.summary import read_summary
from convrag.sweep.sweep_file import find_cell_name
from convrag_mlflow.database import exclusive_database, resolve_uri
from convrag_mlflow.killed_runs import PROCESS, close_dead_runs, close_killed_run
from convrag_mlflow.processes import is_gone, mark_process
from convrag_mlflow.run_data import clip_text, find_factors, flatten_config, list_metrics, shorten_name, version_tags

PARENT, NOTE = "mlflow.parentRunId", "mlflow.note.content"
SWEEP, CELL, KIND = "convrag.sweep", "convrag.cell", "convrag.kind"
STATE, GAPS = "convrag.state", "convrag.gaps"
_STATES = ("ok", "reused", "partial", "failed", "same", "")
_PARAMETER_BATCH, _METRIC_BATCH = 100, 1000  # the most that MLflow takes at once

for _name in ("alembic", "mlflow"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # Hydra's root level would let their INFO through
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # it logs, with a traceback, what it raises


class Experiment:
    """The runs of one experiment at one tracking address.

    Args:
        uri: MLflow's tracking address.
        name: the experiment's, which is created where it is missing.
        store: has the lock for creating a database that is not on disk.

    Raises:
        ConfigError: the address cannot be used.
    """

    def __init__(self, uri: str, name: str, store: Store) -> None:
        try:
            address, artifacts = resolve_uri(uri)
            with exclusive_database(address, artifacts, store):
                self.client: _Client = MlflowClient(tracking_uri=address)
                found = self.client.get_experiment_by_name(name)
                location = artifacts.as_uri() if artifacts else None
                self.id: str = found.experiment_id if found else self.client.create_experiment(name, location)
        except (MlflowException, OSError) as error:
            raise ConfigError(f"tracker.uri={uri} cannot be used: {error}") from error

    def start_run(self, run: Run) -> str:
        """Create the run of a single run or of a cell, and return its id; earlier runs of the cell are deleted."""
        tags = {KIND: "run", **version_tags(), "convrag.folder": str(run.folder)}
        if not run.sweep:
            close_dead_runs(self.client, self.id)
        else:
            cell = run.folder.name
            self._delete_runs(run.sweep, cell)
            parent = self._find_runs({KIND: "sweep", SWEEP: run.sweep})
            tags |= {SWEEP: run.sweep, CELL: cell} | ({PARENT: parent[0]} if parent else {})
        tags |= {f"fingerprint.{place}": value for place, value in run.fingerprints.items()}
        run_id = self._create_run(shorten_name(find_cell_name(run.folder)) or run.folder.name, tags)
        self._log(run_id, parameters=flatten_config(run.config))
        for place, text in run.prompts.items():
            self.client.log_text(run_id, text, f"prompts/{place}.jinja")
        self.client.log_dict(run_id, dict(run.config), "config.yaml")
        return run_id

    def finish_run(self, run_id: str, folder: Path, summary: RunSummary, *, files: bool) -> None:
        """Log the metrics and, where `files` is true, the folder's files, and end the run."""
        self._log(run_id, metrics=list_metrics(summary))
        self.client.set_tag(run_id, STATE, summary.state)
        self.client.set_tag(run_id, GAPS, clip_text(describe_gaps(summary), 5000))
        if files:
            self.client.log_artifacts(run_id, str(folder))
        self.client.set_terminated(run_id, "FAILED" if summary.state == "failed" else "FINISHED")

    def fail_run(self, run_id: str, error: str, *, killed: bool = False) -> None:
        """End a run as failed, or as killed, with the error."""
        if killed:
            self.client.set_terminated(run_id, "KILLED")  # first: there may be no time for more
            self.client.set_tag(run_id, "convrag.error", clip_text(error, 5000))
            return
        self.client.set_tag(run_id, "convrag.error", clip_text(error, 5000))
        self.client.set_tag(run_id, STATE, "failed")
        self.client.log_text(run_id, error, "error.txt")
        self.client.set_terminated(run_id, "FAILED")

    def start_sweep(self, sweep: Sweep) -> None:
        """Create the grid's parent run, or continue the one that is there."""
        close_dead_runs(self.client, self.id)
        tags = {KIND: "sweep", SWEEP: sweep.id}
        if found := self._find_runs(tags):
            self.client.set_tag(found[0], PROCESS, mark_process())  # before it runs: nobody may close it
            self.client.update_run(found[0], status="RUNNING")
        else:
            factors = find_factors(sweep)
            name = f"grid {' x '.join(factors)} ({sweep.id})"
            run_id = self._create_run(name, {**tags, **version_tags(), "convrag.folder": str(sweep.folder)})
            self._log(run_id, parameters=factors)

    def finish_sweep(self, sweep: Sweep) -> None:
        """Log the reports in the grid's folder to the parent run, and end it."""
        for run_id in self._find_runs({KIND: "sweep", SWEEP: sweep.id}):
            for path in sorted(sweep.folder.glob("*")):  # the folder is gone where no cell was begun
                if path.is_file() and path.suffix != ".lock":
                    self.client.log_artifact(run_id, str(path))
            if (board := sweep.folder / "leaderboard.md").exists():
                self.client.set_tag(run_id, NOTE, clip_text(board.read_text(encoding="utf-8"), 5000))
            states = [cell.state for cell in sweep.cells]
            counts = {f"cells_{state or 'left'}": float(states.count(state)) for state in _STATES}
            tries = len(self.client.get_metric_history(run_id, "cells_left"))  # MLflow shows the value of the last step
            self._log(run_id, metrics=[(name, value, tries) for name, value in counts.items()])
            state = next((state for state in ("failed", "partial") if state in states), "ok")
            self.client.set_tag(run_id, STATE, state)
            status = "KILLED" if sweep.interrupted else "FAILED" if state == "failed" else "FINISHED"
            self.client.set_terminated(run_id, status)

    def has_finished_run(self, cell: Cell) -> bool:
        """Whether the experiment has a finished run of this cell."""
        found = self._find_runs({KIND: "run", CELL: cell.id})
        return any(self.client.get_run(run_id).info.status == "FINISHED" for run_id in found)

    def fail_cell(self, sweep: Sweep, cell: Cell) -> None:
        """End a failed cell's run as failed, with the traceback; one that failed before its run began gets a run."""
        found = self._find_runs({KIND: "run", SWEEP: sweep.id, CELL: cell.id})
        run_id = found[0] if found else self._start_cell(sweep, cell)
        path = cell.folder / "error.txt"
        self.fail_run(run_id, path.read_text(encoding="utf-8") if path.exists() else cell.error)

    def kill_cell(self, sweep: Sweep, cell: Cell) -> None:
        """End the runs as killed that this process, or one that is gone, left running. A job on a cluster goes on."""
        for run_id in self._find_runs({KIND: "run", SWEEP: sweep.id, CELL: cell.id}):
            mark = self.client.get_run(run_id).data.tags.get(PROCESS, "")
            if mark == mark_process() or is_gone(mark):
                close_killed_run(self.client, run_id, mark)

    def log_finished_cell(self, sweep: Sweep, cell: Cell, *, files: bool) -> None:
        """Log a finished cell that has no finished run here, from the files in its folder."""
        self._delete_runs(sweep.id, cell.id)
        run_id = self._start_cell(sweep, cell)
        self.finish_run(run_id, cell.folder, read_summary(cell.folder / "metrics.json"), files=files)

    def _delete_runs(self, sweep: str, cell: str) -> None:
        """Delete the earlier runs of a cell, which a new one replaces."""
        for earlier in self._find_runs({KIND: "run", SWEEP: sweep, CELL: cell}):
            self.client.delete_run(earlier)

    def _start_cell(self, sweep: Sweep, cell: Cell) -> str:
        parent = self._find_runs({KIND: "sweep", SWEEP: sweep.id})
        tags = {KIND: "run", SWEEP: sweep.id, CELL: cell.id, **version_tags()} | ({PARENT: parent[0]} if parent else {})
        run_id = self._create_run(shorten_name(cell.name) or cell.id, tags)
        self._log(run_id, parameters=dict(override.partition("=")[::2] for override in cell.overrides))
        return run_id

    def _create_run(self, name: str, tags: Mapping[str, str]) -> str:
        clipped = {key: clip_text(value, 5000) for key, value in {**tags, PROCESS: mark_process()}.items()}
        return str(self.client.create_run(self.id, tags=clipped, run_name=name).info.run_id)

    def _find_runs(self, tags: Mapping[str, str]) -> list[str]:
        """The ids of the runs with these tags, newest first."""
        condition = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        return [run.info.run_id for run in self.client.search_runs([self.id], condition)]

    def _log(
        self,
        run_id: str,
        *,
        parameters: Mapping[str, str] | None = None,
        metrics: list[tuple[str, float, int]] | None = None,
    ) -> None:
        """Log parameters and metrics (name, value, step) in batches."""
        params: list[Any] = [Param(key[:250], clip_text(value, 6000)) for key, value in (parameters or {}).items()]
        now = int(time.time() * 1000)
        values: list[Any] = [Metric(name[:250], value, now, step) for name, value, step in metrics or []]
        for start in range(0, len(params), _PARAMETER_BATCH):
            self.client.log_batch(run_id, params=params[start : start + _PARAMETER_BATCH])
        for start in range(0, len(values), _METRIC_BATCH):
            self.client.log_batch(run_id, metrics=values[start : start + _METRIC_BATCH])
