"""An experiment in MLflow, through its client alone: runs that are found by tags; grids with a run
for each cell.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracking import MlflowClient as _Client
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from convrag import ConfigError, Run, RunSummary
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.storage import get_locks
from convrag.sdk.tasks.grids import METRICS_FILE
from convrag.sdk.tasks.runs import list_run_files
from convrag.sdk.tasks.scores import describe_gaps, read_summary
from convrag.sdk.types import Cell, Sweep
from convrag_mlflow.connection import SQLITE, redact_uri, resolve_uri
from convrag_mlflow.run_data import (
    clip_text,
    describe_dataset,
    find_factors,
    flatten_config,
    list_metrics,
    name_run,
    read_dataset,
    shorten_name,
    version_tags,
)
from convrag_mlflow.trace_log import TraceLog

_LOCK = 0x636F6E7672616702  # of PostgreSQL: held while MLflow makes its tables


@contextmanager
def exclusive_database(uri: str, artifacts: Path | None) -> Iterator[None]:
    """Create the database where it is missing, and keep other processes from their own first use of
    it meanwhile.

    MLflow's first use of a database creates its tables. Two at once would collide, and one that is
    killed leaves tables that no later one can complete.

    Args:
        uri: as `resolve_uri` gives it.
        artifacts: the folder for runs' files, as `resolve_uri` gives it.
    """
    if artifacts is not None:
        artifacts.mkdir(parents=True, exist_ok=True)
        with get_locks(artifacts).lock_keys([uri]):
            path = Path(uri.removeprefix(SQLITE))
            if not path.exists():
                _create_database(path, artifacts)
            yield
    elif uri.startswith("postgresql"):
        with create_engine(uri, poolclass=NullPool).connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
            yield
    else:
        yield  # a server makes its own database


def _create_database(path: Path, artifacts: Path) -> None:
    """Create it under another name, and rename it when it is complete."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    for leftover in path.parent.glob(f"{unfinished.name}*"):
        leftover.unlink()  # of a process that was killed: we hold the lock
    SqlAlchemyStore(f"{SQLITE}{unfinished}", artifacts.as_uri()).engine.dispose()
    unfinished.rename(path)


PARENT, SWEEP, CELL, KIND = "mlflow.parentRunId", "convrag.sweep", "convrag.cell", "convrag.kind"
STATE, GAPS, ERROR = "convrag.state", "convrag.gaps", "convrag.error"
_PAGE = "mlflow.experimentKind"
"""What MLflow's page of an experiment opens on."""

_PARAMETER_BATCH, _METRIC_BATCH = 100, 1000  # the most that MLflow takes at once

limit_logs(logging.WARNING, "alembic", "mlflow")
limit_logs(logging.CRITICAL, "mlflow.store.db.utils")  # it logs, with a traceback, what it raises


class Experiment:
    """The runs of one experiment at one tracking address.

    Args:
        uri: MLflow's tracking address.
        name: the experiment's, which is created where it is missing.
        traces: whether MLflow's page of it opens on traces, not on runs.

    Raises:
        ConfigError: the address cannot be used.
    """

    def __init__(self, uri: str, name: str, *, traces: bool = False) -> None:
        try:
            address, artifacts = resolve_uri(uri)
            with exclusive_database(address, artifacts):
                self.client: _Client = MlflowClient(tracking_uri=address)
                found = self.client.get_experiment_by_name(name)
                location = artifacts.as_uri() if artifacts else None
                self.id: str = (
                    found.experiment_id if found else self.client.create_experiment(name, location)
                )
                if not found or _PAGE not in found.tags:
                    kind = "genai_development" if traces else "custom_model_development"
                    self.client.set_experiment_tag(self.id, _PAGE, kind)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            raise ConfigError(
                redact_uri(f"tracker.uri={uri} cannot be used: {error}", uri)
            ) from None
        self.traces = TraceLog(self.client, self.id, None if artifacts else uri)

    def start_run(self, run: Run, started: int) -> str:
        """Create the run of a single run or of a cell, and return its id; earlier runs of the cell
        are deleted.

        Args:
            run: that has ended; its parameters, prompts and data set are logged.
            started: when it began, in milliseconds since 1970.
        """
        tags = {KIND: "run", **version_tags(), "convrag.folder": str(run.folder)}
        tags |= {f"fingerprint.{place}": value for place, value in run.fingerprints.items()}
        if run.sweep:
            cell = {SWEEP: run.sweep, CELL: run.folder.name}
            self.delete_runs({KIND: "run", **cell})
            parent = self.find_runs({KIND: "sweep", SWEEP: run.sweep})
            tags |= cell | ({PARENT: parent[0]} if parent else {})
        run_id = self.create_run(name_run(run.folder, run.config), tags, started)
        self.log_values(run_id, parameters=flatten_config(run.config))
        for place, prompt in run.prompts.items():
            self.client.log_text(run_id, prompt, f"prompts/{place}.jinja")
        self.client.log_dict(run_id, dict(run.config), "config.yaml")
        counts = {"conversations": run.conversations, "turns": run.turns}
        self.log_datasets(
            run_id, [describe_dataset(run.config, run.fingerprints.get("dataset", ""), counts)]
        )
        return run_id

    def log_datasets(self, run_id: str, datasets: Iterable[Mapping[str, str]]) -> None:
        """Log the data sets of a run, as `describe_dataset` gives them; empty ones are left out,
        equal ones once.
        """
        found = {(each["name"], each["digest"]): each for each in datasets if each}
        tags = [InputTag("mlflow.data.context", "evaluation")]
        inputs = [
            DatasetInput(Dataset(source_type="convrag", **each), tags) for each in found.values()
        ]
        if inputs:
            self.client.log_inputs(run_id, datasets=inputs)

    def finish_run(
        self,
        run_id: str,
        folder: Path,
        summary: RunSummary,
        *,
        files: bool,
        ended: int | None = None,
    ) -> None:
        """Log the metrics and, where `files` is true, the folder's files, and end the run (in
        milliseconds; now).
        """
        self.log_values(run_id, metrics=list_metrics(summary))
        self.client.set_tag(run_id, STATE, summary.state)
        self.client.set_tag(run_id, GAPS, clip_text(describe_gaps(summary), 5000))
        for path in [*list_run_files(folder), *folder.glob("convrag.log")] if files else []:
            within = path.relative_to(folder).parent.as_posix()
            self.client.log_artifact(run_id, str(path), None if within == "." else within)
        self.client.set_terminated(
            run_id, "FAILED" if summary.state == "failed" else "FINISHED", ended
        )

    def fail_run(self, run_id: str, error: str, ended: int | None = None) -> None:
        """End a run as failed, with the error (in milliseconds; now)."""
        self.client.set_tag(run_id, ERROR, clip_text(error, 5000))
        self.client.set_tag(run_id, STATE, "failed")
        self.client.log_text(run_id, error, "error.txt")
        self.client.set_terminated(run_id, "FAILED", ended)

    def delete_runs(self, tags: Mapping[str, str]) -> None:
        """Delete the earlier runs with these tags, which a new one replaces, and their traces."""
        for earlier in self.find_runs(tags):
            self.traces.delete(earlier)
            self.client.delete_run(earlier)

    def create_run(self, name: str, tags: Mapping[str, str], started: int | None = None) -> str:
        clipped = {key: clip_text(value, 5000) for key, value in tags.items()}
        return str(self.client.create_run(self.id, started, clipped, name).info.run_id)

    def find_runs(self, tags: Mapping[str, str]) -> list[str]:
        """The ids of the runs with these tags, newest first."""
        condition = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        return [run.info.run_id for run in self.client.search_runs([self.id], condition)]

    def log_values(
        self,
        run_id: str,
        *,
        parameters: Mapping[str, str] | None = None,
        metrics: list[tuple[str, float, int]] | None = None,
    ) -> None:
        """Log parameters and metrics (name, value, step) in batches."""
        params: list[Any] = [
            Param(key[:250], clip_text(value, 6000)) for key, value in (parameters or {}).items()
        ]
        now = int(time.time() * 1000)
        values: list[Any] = [
            Metric(name[:250], value, now, step) for name, value, step in metrics or []
        ]
        for start in range(0, len(params), _PARAMETER_BATCH):
            self.client.log_batch(run_id, params=params[start : start + _PARAMETER_BATCH])
        for start in range(0, len(values), _METRIC_BATCH):
            self.client.log_batch(run_id, metrics=values[start : start + _METRIC_BATCH])


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
            tags = {
                KIND: "sweep",
                SWEEP: self.sweep.id,
                **version_tags(),
                "convrag.folder": str(self.sweep.folder),
            }
            self.experiment.log_values(self.experiment.create_run(name, tags), parameters=factors)

    def finish(self) -> None:
        """Complete the runs of the cells, log the reports in the grid's folder to the parent run,
        and end it.
        """
        if self.sweep.interrupted:  # at once: the process may be ended before the rest is logged
            for run_id in self._find_parents():
                self.client.set_terminated(run_id, "KILLED")
        for cell in self.sweep.cells:
            self._complete_cell(cell)
        for run_id in self._find_parents():
            for path in sorted(
                self.sweep.folder.glob("*")
            ):  # the folder is gone where no cell was begun
                if path.is_file() and path.suffix != ".lock":
                    self.client.log_artifact(run_id, str(path))
            self.experiment.log_datasets(
                run_id, (read_dataset(cell.folder) for cell in self.sweep.cells)
            )
            if (board := self.sweep.folder / "leaderboard.md").exists():
                self.client.set_tag(
                    run_id, _NOTE, clip_text(board.read_text(encoding="utf-8"), 5000)
                )
            states = [cell.state for cell in self.sweep.cells]
            counts = {f"cells_{state or 'left'}": float(states.count(state)) for state in _STATES}
            tries = len(
                self.client.get_metric_history(run_id, "cells_left")
            )  # MLflow shows the value of the last step
            self.experiment.log_values(
                run_id, metrics=[(name, value, tries) for name, value in counts.items()]
            )
            state = next((state for state in ("failed", "partial") if state in states), "ok")
            self.client.set_tag(run_id, STATE, state)
            status = (
                "KILLED"
                if self.sweep.interrupted
                else "FAILED"
                if state == "failed"
                else "FINISHED"
            )
            self.client.set_terminated(run_id, status)

    def _complete_cell(self, cell: Cell) -> None:
        """Log what a cell's own process has not.

        It failed before its first turn, it could not log, or its finished run is reused and stands
        in another database. A cell that has no state was not run to its end, and one that is the
        same as another has no run of its own.
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
        """End a failed cell's run as failed, with the traceback; one that failed before its run
        began gets a run.
        """
        found = self.experiment.find_runs({KIND: "run", SWEEP: self.sweep.id, CELL: cell.id})
        run_id = found[0] if found else self._create_run(cell)
        path = cell.folder / "error.txt"
        self.experiment.fail_run(
            run_id, path.read_text(encoding="utf-8") if path.exists() else cell.error
        )

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
