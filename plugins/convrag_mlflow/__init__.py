"""Keeps runs and grids in MLflow."""

from convrag.hookspecs import Register, hookimpl
from convrag_mlflow.tracker import MlflowTracker

__all__ = ["MlflowTracker", "convrag_register"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the tracker."""
    register("tracker", "mlflow", MlflowTracker)
