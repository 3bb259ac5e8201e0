"""Runs and grids that are given by their ids in MLflow: their files, downloaded into a folder."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from convrag import ConfigError
from convrag.sdk.errors import MissingExtra
from convrag.sdk.libraries import is_installed
from convrag.sdk.secrets import redact, redact_address

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_PARENT_TAG = "mlflow.parentRunId"
_SQLITE = "sqlite:///"


def is_mlflow_id(text: str) -> bool:
    """Whether a text has the form of the id of a run in MLflow."""
    return _RUN_ID.fullmatch(text) is not None


def download_runs(run_id: str, folder: Path, uri: str) -> Iterator[Path]:
    """Download the files of a run, or of each finished run of a grid, oldest first.

    Args:
        run_id: the id of a run, or of a grid's parent run.
        folder: where each run gets a folder, named by its id.
        uri: MLflow's tracking address.

    Yields:
        The folder of each run.

    Raises:
        MissingExtra: MLflow is not installed.
        ConfigError: there is no such run, or it has none of a run's files.
    """
    if not is_installed("mlflow"):
        raise MissingExtra("mlflow", "mlflow-skinny", f"task.runs=[{run_id}]")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    client: Any = MlflowClient(tracking_uri=_resolve_uri(uri))
    try:
        for each in _list_finished_runs(client, run_id):
            yield _download_run(client, each, folder / each)
    except MlflowException as error:
        reason = redact(str(error).replace(uri, redact_address(uri)), address=uri)
        raise ConfigError(
            f"task.runs: MLflow at {redact_address(uri)} does not give the run {run_id}: {reason}. "
            "task.tracking_uri=... names another address."
        ) from None


def _list_finished_runs(client: Any, run_id: str) -> list[str]:
    """List the ids of a grid's finished runs, or the id itself for a run that has no others."""
    run = client.get_run(run_id)
    children = client.search_runs(
        [run.info.experiment_id],
        f"tags.`{_PARENT_TAG}` = '{run_id}'",
        order_by=["attributes.start_time ASC"],
    )
    finished = [child.info.run_id for child in children if child.info.status == "FINISHED"]
    return finished or [run_id]


def _download_run(client: Any, run_id: str, folder: Path) -> Path:
    names = {Path(item.path).name for item in client.list_artifacts(run_id)}
    if "metrics.json" not in names:
        raise ConfigError(
            f"task.runs: the run {run_id} in MLflow has no metrics.json: it has not finished, or "
            "was logged with tracker.files=false"
        )
    folder.mkdir(parents=True, exist_ok=True)
    client.download_artifacts(run_id, "", str(folder))
    return folder


def _resolve_uri(uri: str) -> str:
    """Make the path of a database absolute.

    Raises ConfigError if there is no such database, since MLflow would create one.
    """
    if not uri.startswith(_SQLITE):
        return uri
    path = Path(uri.removeprefix(_SQLITE)).absolute()
    if not path.exists():
        raise ConfigError(f"task.tracking_uri: there is no MLflow database at {path}")
    return f"{_SQLITE}{path}"
