"""Downloads the files of runs that MLflow keeps; the only module of the package that imports it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from convrag import ConfigError
from convrag.sdk.errors import MissingExtra

_NEEDED = ("metrics.json", "scores.jsonl", ".hydra")
_PARENT = "mlflow.parentRunId"


def download_runs(run_id: str, download: Path, tracking_uri: str) -> Iterator[Path]:
    """Yield the folder of a run, or of each finished run below a parent, oldest first.

    Args:
        run_id: of a run, or of a grid.
        download: where each run gets a folder, named by its id.
        tracking_uri: MLflow's address.

    Raises:
        MissingExtra: MLflow is not installed.
        ConfigError: there is no such run, or it has no files of a run of ours.
    """
    if not find_spec("mlflow"):
        raise MissingExtra("mlflow", "convrag[mlflow]", f"task.runs=[{run_id}]")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    client: Any = MlflowClient(tracking_uri=_absolute_uri(tracking_uri))
    try:
        run = client.get_run(run_id)
        children = client.search_runs(
            [run.info.experiment_id], f"tags.`{_PARENT}` = '{run_id}'", order_by=["attributes.start_time ASC"]
        )
        ids = [each.info.run_id for each in children if each.info.status == "FINISHED"] or [run_id]
        for each in ids:
            yield _download(client, each, download / each)
    except MlflowException as error:
        raise ConfigError(f"task.runs: MLflow at {tracking_uri} does not give run {run_id}: {error}") from error


def _download(client: Any, run_id: str, folder: Path) -> Path:
    artifacts = {Path(item.path).name for item in client.list_artifacts(run_id)}
    if "metrics.json" not in artifacts:
        raise ConfigError(f"task.runs: the run {run_id} in MLflow has no metrics.json (tracker.files=true keeps it)")
    folder.mkdir(parents=True, exist_ok=True)
    for name in _NEEDED:
        if name in artifacts:
            client.download_artifacts(run_id, name, str(folder))
    return folder


def _absolute_uri(uri: str) -> str:
    """The address with an absolute path. Raises ConfigError where there is no database: MLflow would create one."""
    if not uri.startswith("sqlite:///"):
        return uri
    path = Path(uri.removeprefix("sqlite:///")).absolute()
    if not path.exists():
        raise ConfigError(f"task.runs: there is no MLflow database at {path}: task.tracking_uri=...")
    return f"sqlite:///{path}"
