"""Keeps runs and grids in MLflow."""

from convrag import Register, hookimpl
from convrag_mlflow.tracker import AutoTracker, MlflowTracker

__all__ = ["AutoTracker", "MlflowTracker", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the trackers."""
    register("tracker", "auto", AutoTracker)
    register("tracker", "mlflow", MlflowTracker)
