"""What keeps an experiment from taking runs: it was deleted, or its folder cannot be written.

A database on disk is read without MLflow, which takes seconds to import.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from convrag.sdk.secrets import redact_address
from convrag_mlflow.addresses import SQLITE, resolve_uri

_DELETED = "deleted"
_STATE = "SELECT experiment_id, lifecycle_stage, artifact_location FROM experiments WHERE name = ?"


class ExperimentState(NamedTuple):
    """The state of an experiment.

    Args:
        id: in MLflow.
        stage: "active" or "deleted".
        artifacts: the address of the files of runs.
    """

    id: str
    stage: str
    artifacts: str

    @property
    def is_deleted(self) -> bool:
        """Whether it was deleted; MLflow keeps a deleted experiment, and its name."""
        return self.stage == _DELETED


def find_obstacle(uri: str, name: str) -> str:
    """Say why an experiment of a database on disk takes no runs; empty where it does.

    It is empty for other addresses too: only MLflow can read those.
    """
    _, artifacts = resolve_uri(uri)
    if artifacts is None:
        return ""
    state = _read_state(uri, name)
    if state is None:  # it will be created
        return describe_unwritable(uri, name, artifacts.as_uri())
    return describe_obstacle(uri, name, state)


def describe_obstacle(uri: str, name: str, state: ExperimentState) -> str:
    """Say why an experiment in this state takes no runs; empty where it does."""
    if state.is_deleted:
        return describe_deleted(uri, name, state.id)
    return describe_unwritable(uri, name, state.artifacts)


def describe_deleted(uri: str, name: str, experiment_id: str) -> str:
    """Say that an experiment was deleted, and how to restore it."""
    address = redact_address(uri)
    return (
        f"tracker.uri={address}: the experiment {name!r} was deleted in MLflow. Restore it "
        f"(MLFLOW_TRACKING_URI={address} mlflow experiments restore --experiment-id "
        f"{experiment_id}), or log to another one: tracker.experiment=NAME"
    )


def describe_unwritable(uri: str, name: str, artifacts: str) -> str:
    """Say that the files of runs cannot be written; empty where they can, or are not local."""
    folder = _find_local_folder(artifacts)
    if folder is None:
        return ""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return ""
    return (
        f"tracker.uri={redact_address(uri)}: the experiment {name!r} keeps the files of runs in "
        f"{folder}, and {existing} is not a folder that can be written. Change that, or log to "
        "another experiment: tracker.experiment=NAME"
    )


def _find_local_folder(artifacts: str) -> Path | None:
    """Return the folder that an address of files names; None for a server's or a cloud's."""
    parts = urlsplit(artifacts)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(artifacts) if artifacts and not parts.scheme else None


def _read_state(uri: str, name: str) -> ExperimentState | None:
    """Read the state of an experiment; None where there is none, or the database is no MLflow's."""
    path = Path(uri.removeprefix(SQLITE)).absolute()
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute(_STATE, (name,)).fetchone()
    except sqlite3.Error:  # MLflow says what is wrong with it
        return None
    if row is None:
        return None
    experiment_id, stage, artifacts = row
    return ExperimentState(str(experiment_id), str(stage), str(artifacts or ""))
