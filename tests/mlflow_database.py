"""MLflow's database for tests: made once, copied for each of them, since making one takes seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "ignore"}
LIBRARIES = ("mlflow", "mlflow.store.tracking.sqlalchemy_store", "alembic.command", "sqlalchemy.dialects.sqlite")
"""What a command that logs to MLflow imports."""


def make_database(folder: Path) -> Path:
    """Make an empty database that is migrated already."""
    code = "from mlflow import MlflowClient; MlflowClient('sqlite:///mlflow.db').search_experiments()"
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)
    return folder / "mlflow.db"


def copy_database(database: Path, folder: Path) -> None:
    """Put a copy where commands in this folder look for theirs."""
    (folder / "outputs").mkdir()
    (folder / "outputs/mlflow.db").write_bytes(database.read_bytes())
