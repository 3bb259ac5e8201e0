"""An experiment in MLflow, used through its client alone: without active runs, and with runs that are found by tags."""

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
from convrag.sdk.library_logs import limit_logs
from convrag.sdk.storage import get_locks
from convrag.sdk.tasks.runs import list_run_files
from convrag.sdk.tasks.scores import describe_gaps
from convrag_mlflow.connection import SQLITE, redact_uri, resolve_uri
from convrag_mlflow.run_data import clip_text, describe_dataset, flatten_config, list_metrics, name_run, version_tags
from convrag_mlflow.trace_log import TraceLog

_LOCK = 0x636F6E7672616702  # of PostgreSQL: held while MLflow makes its tables


@contextmanager
def exclusive_database(uri: str, artifacts: Path | None) -> Iterator[None]:
    """Create the database where it is missing, and keep other processes from their own first use of it meanwhile.

    MLflow's first use of a database creates its tables. Two at once would collide, and one that is killed leaves tables
    that no later one can complete.

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
                self.id: str = found.experiment_id if found else self.client.create_experiment(name, location)
                if not found or _PAGE not in found.tags:
                    kind = "genai_development" if traces else "custom_model_development"
                    self.client.set_experiment_tag(self.id, _PAGE, kind)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            raise ConfigError(redact_uri(f"tracker.uri={uri} cannot be used: {error}", uri)) from None
        self.traces = TraceLog(self.client, self.id, None if artifacts else uri)

    def start_run(self, run: Run, started: int) -> str:
        """Create the run of a single run or of a cell, and return its id; earlier runs of the cell are deleted.

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
        self.log_datasets(run_id, [describe_dataset(run.config, run.fingerprints.get("dataset", ""), counts)])
        return run_id

    def log_datasets(self, run_id: str, datasets: Iterable[Mapping[str, str]]) -> None:
        """Log the data sets of a run, as `describe_dataset` gives them; empty ones are left out, equal ones once."""
        found = {(each["name"], each["digest"]): each for each in datasets if each}
        tags = [InputTag("mlflow.data.context", "evaluation")]
        inputs = [DatasetInput(Dataset(source_type="convrag", **each), tags) for each in found.values()]
        if inputs:
            self.client.log_inputs(run_id, datasets=inputs)

    def finish_run(
        self, run_id: str, folder: Path, summary: RunSummary, *, files: bool, ended: int | None = None
    ) -> None:
        """Log the metrics and, where `files` is true, the folder's files, and end the run (in milliseconds; now)."""
        self.log_values(run_id, metrics=list_metrics(summary))
        self.client.set_tag(run_id, STATE, summary.state)
        self.client.set_tag(run_id, GAPS, clip_text(describe_gaps(summary), 5000))
        for path in [*list_run_files(folder), *folder.glob("convrag.log")] if files else []:
            within = path.relative_to(folder).parent.as_posix()
            self.client.log_artifact(run_id, str(path), None if within == "." else within)
        self.client.set_terminated(run_id, "FAILED" if summary.state == "failed" else "FINISHED", ended)

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
        params: list[Any] = [Param(key[:250], clip_text(value, 6000)) for key, value in (parameters or {}).items()]
        now = int(time.time() * 1000)
        values: list[Any] = [Metric(name[:250], value, now, step) for name, value, step in metrics or []]
        for start in range(0, len(params), _PARAMETER_BATCH):
            self.client.log_batch(run_id, params=params[start : start + _PARAMETER_BATCH])
        for start in range(0, len(values), _METRIC_BATCH):
            self.client.log_batch(run_id, metrics=values[start : start + _METRIC_BATCH])
