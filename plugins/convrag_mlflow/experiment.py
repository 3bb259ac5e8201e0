"""An experiment in MLflow, through its client alone; runs are found by tags."""

import logging
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, Experiment as _Found, InputTag, Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient as _Client
from sqlalchemy.exc import SQLAlchemyError

from convrag import ConfigError, Run, RunSummary
from convrag.sdk.folders import hold_abandoned
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.tasks.runs import list_run_files
from convrag.sdk.tasks.scores import describe_gaps
from convrag_mlflow.addresses import redact_uri, resolve_uri
from convrag_mlflow.database import exclusive_database
from convrag_mlflow.experiment_state import ExperimentState, describe_obstacle
from convrag_mlflow.keys import make_keys
from convrag_mlflow.run_data import (
    clip_text,
    describe_dataset,
    flatten_config,
    list_metrics,
    name_run,
    version_tags,
)
from convrag_mlflow.trace_log import TraceLog

# Tags of runs
PARENT = "mlflow.parentRunId"
SWEEP = "convrag.sweep"
CELL = "convrag.cell"
KIND = "convrag.kind"
STATE = "convrag.state"
GAPS = "convrag.gaps"
ERROR = "convrag.error"
FOLDER = "convrag.folder"

_PAGE = "mlflow.experimentKind"
"""The tag that says what MLflow's page of an experiment opens on."""

# The most that MLflow takes at once
_PARAMETER_BATCH = 100
_METRIC_BATCH = 1000

_NAME_LENGTH = 250
"""The longest name of a run; a database other than SQLite refuses longer ones."""

limit_logs(logging.WARNING, "alembic", "mlflow")
limit_logs(logging.CRITICAL, "mlflow.store.db.utils")  # it logs, with a traceback, what it raises


class Experiment:
    """The runs of one experiment at one tracking address.

    Args:
        uri: MLflow's tracking address.
        name: the experiment's name; it is created if it is missing.
        traces: whether MLflow's page of it opens on traces, not on runs.

    Raises:
        ConfigError: the address cannot be used, or the experiment was deleted.
    """

    def __init__(self, uri: str, name: str, *, traces: bool = False) -> None:
        self.uri = uri
        self.name = name
        try:
            address, artifacts = resolve_uri(uri)
            with exclusive_database(address, artifacts):
                self.client: _Client = MlflowClient(tracking_uri=address)
                self.id = self._open(name, artifacts, traces)
        except (MlflowException, SQLAlchemyError, OSError) as error:
            message = f"tracker.uri={uri} cannot be used: {error}"
            raise ConfigError(redact_uri(message, uri)) from None
        self.traces = TraceLog(self.client, self.id, None if artifacts else uri)

    def _open(self, name: str, artifacts: Path | None, traces: bool) -> str:
        """Return the id of the experiment, which is created if it is missing.

        Raises ConfigError where it takes no runs.
        """
        found = self.client.get_experiment_by_name(name)
        if found:
            id = found.experiment_id
            obstacle = describe_obstacle(self.uri, name, _read_state(found))
            if obstacle:
                raise ConfigError(obstacle)
        else:
            location = artifacts.as_uri() if artifacts else None
            id = self.client.create_experiment(name, location)
        if not found or _PAGE not in found.tags:
            kind = "genai_development" if traces else "custom_model_development"
            self.client.set_experiment_tag(id, _PAGE, kind)
        return str(id)

    def end_abandoned(self, folder: Path) -> None:
        """End the runs that processes have left running when they were killed.

        Nobody holds their folders any more. Runs of other machines stay as they are.

        Args:
            folder: the folder of the run that begins, or of the grid that goes on; this process
                holds it.
        """
        condition = "attributes.status = 'RUNNING'"
        for run in self.client.search_runs([self.id], condition):
            other = Path(run.data.tags.get(FOLDER, ""))
            is_own = other == folder and run.data.tags.get(KIND) == "run"
            is_grids = other == folder or other in folder.parents
            if is_own:
                self.client.set_terminated(run.info.run_id, "KILLED")
            elif other.is_absolute() and not is_grids:
                self._end_if_abandoned(run.info.run_id, other)

    def _end_if_abandoned(self, run_id: str, folder: Path) -> None:
        """End a run that still has the status of running although nobody holds its folder.

        The folder is held until the run has ended: a process that logs the run holds it, too, and
        leaves it when the run has ended.
        """
        with hold_abandoned(folder) as is_held:
            if is_held and self.client.get_run(run_id).info.status == "RUNNING":
                self.client.set_terminated(run_id, "KILLED")

    def find_obstacle(self) -> str:
        """Say why the experiment takes no runs by now; empty where it does."""
        try:
            found = self.client.get_experiment(self.id)
        except (MlflowException, SQLAlchemyError, OSError):
            return ""  # what has failed before says more
        return describe_obstacle(self.uri, self.name, _read_state(found))

    def start_run(self, run: Run, started: int) -> str:
        """Create the run of a single run or of a cell, and return its id.

        Earlier runs of the cell are deleted, and runs of killed processes end.

        Args:
            run: a run that has ended; its parameters, prompts and data set are logged.
            started: when it began, in milliseconds since the epoch.
        """
        self.end_abandoned(run.folder.absolute())
        tags = {KIND: "run", **version_tags(), FOLDER: str(run.folder.absolute())}
        for place, fingerprint in run.fingerprints.items():
            tags[f"fingerprint.{place}"] = fingerprint
        if run.sweep:
            tags |= self._replace_cell(run)
        run_id = self.create_run(name_run(run.folder, run.config), tags, started)
        self.log_values(run_id, parameters=flatten_config(run.config))
        for place, prompt in run.prompts.items():
            self.client.log_text(run_id, prompt, f"prompts/{place}.jinja")
        self.client.log_dict(run_id, dict(run.config), "config.yaml")
        counts = {"conversations": run.conversations, "turns": run.turns}
        dataset = describe_dataset(run.config, run.fingerprints.get("dataset", ""), counts)
        self.log_datasets(run_id, [dataset])
        return run_id

    def _replace_cell(self, run: Run) -> dict[str, str]:
        """Delete the earlier runs of a cell, and return the tags of its new run."""
        tags = {SWEEP: run.sweep, CELL: run.folder.name}
        self.delete_runs({KIND: "run", **tags})
        parents = self.find_runs({KIND: "sweep", SWEEP: run.sweep})
        if parents:
            tags[PARENT] = parents[0]
        return tags

    def log_datasets(self, run_id: str, datasets: Iterable[Mapping[str, str]]) -> None:
        """Log the data sets of a run, as `describe_dataset` returns them.

        Empty ones are left out, and equal ones are logged once.
        """
        distinct = {(each["name"], each["digest"]): each for each in datasets if each}
        tags = [InputTag("mlflow.data.context", "evaluation")]
        inputs = [
            DatasetInput(Dataset(source_type="convrag", **each), tags) for each in distinct.values()
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
        """Log the metrics of a run, and end it.

        Args:
            run_id: the id of the run.
            folder: the folder of the run.
            summary: the summary of the run.
            files: whether the folder's files are logged.
            ended: when it ended, in milliseconds since the epoch; None for now.
        """
        self.log_values(run_id, metrics=list_metrics(summary))
        self.client.set_tag(run_id, STATE, summary.state)
        self.client.set_tag(run_id, GAPS, clip_text(describe_gaps(summary), 5000))
        if files:
            written_by_hydra = sorted(folder.glob(".hydra/*.yaml"))
            for path in [*list_run_files(folder), *folder.glob("convrag.log"), *written_by_hydra]:
                within = path.relative_to(folder).parent.as_posix()
                self.client.log_artifact(run_id, str(path), None if within == "." else within)
        status = "FAILED" if summary.state == "failed" else "FINISHED"
        self.client.set_terminated(run_id, status, ended)

    def fail_run(self, run_id: str, error: str, ended: int | None = None) -> None:
        """End a run as failed, with the error; `ended` is as for `finish_run`."""
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
        """Create a run, and return its id. `started` is in milliseconds since the epoch."""
        keys = make_keys(tags)
        clipped = {keys[name]: clip_text(value, 5000) for name, value in tags.items()}
        short_name = clip_text(name, _NAME_LENGTH)
        return str(self.client.create_run(self.id, started, clipped, short_name).info.run_id)

    def find_runs(self, tags: Mapping[str, str]) -> list[str]:
        """Return the ids of the runs with these tags, newest first."""
        condition = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
        return [run.info.run_id for run in self.client.search_runs([self.id], condition)]

    def log_values(
        self,
        run_id: str,
        *,
        parameters: Mapping[str, str] | None = None,
        metrics: list[tuple[str, float, int]] | None = None,
    ) -> None:
        """Log parameters and metrics (name, value, step) in batches, under keys of `make_keys`."""
        keys = make_keys(parameters or ())
        params: list[Any] = [
            Param(keys[name], clip_text(value, 6000)) for name, value in (parameters or {}).items()
        ]
        now = int(time.time() * 1000)
        keys = make_keys(name for name, _, _ in metrics or ())
        values: list[Any] = [
            Metric(keys[name], value, now, step) for name, value, step in metrics or ()
        ]
        for start in range(0, len(params), _PARAMETER_BATCH):
            self.client.log_batch(run_id, params=params[start : start + _PARAMETER_BATCH])
        for start in range(0, len(values), _METRIC_BATCH):
            self.client.log_batch(run_id, metrics=values[start : start + _METRIC_BATCH])


def _read_state(found: _Found) -> ExperimentState:
    """Return the state of an experiment that MLflow has found."""
    return ExperimentState(
        str(found.experiment_id), str(found.lifecycle_stage), str(found.artifact_location)
    )
