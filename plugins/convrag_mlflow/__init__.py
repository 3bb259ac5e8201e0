"""Keeps runs and grids in MLflow."""

from __future__ import annotations

import os

from convrag import Register, hookimpl

# MLflow reads this when it is imported: send no telemetry.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# So does litellm, which MLflow imports where it is installed: fetch no price list, read no .env file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the trackers."""
    register("tracker", "auto", "convrag_mlflow.auto_tracker:AutoTracker")
    register("tracker", "mlflow", "convrag_mlflow.tracker:MlflowTracker")
