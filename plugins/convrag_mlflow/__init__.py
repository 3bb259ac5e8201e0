"""Keeps runs and grids in MLflow.

tracker              what is logged at which event
connection           addresses, whether MLflow can log here, and an experiment that is connected to at its first use
experiment           the runs of an experiment; a grid's parent run and the runs of its cells
run_data             parameters, metrics, tags, names and data sets of runs
turn_trace           turns as traces: those of runs, and of chats, servers and programs, written in a thread
trace_log            writes traces, and deletes a run's
"""

import os

from convrag import Register, hookimpl

# MLflow reads this when it is imported: send no telemetry.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# So does litellm, which MLflow imports where it is installed: fetch no price list, read no .env
# file.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the trackers."""
    register(
        "tracker",
        "auto",
        "convrag_mlflow.tracker:AutoTracker",
        "Log to MLflow as `tracker=mlflow` does where it is installed; without it keep "
        "nothing beside the run's files.",
    )
    register(
        "tracker",
        "mlflow",
        "convrag_mlflow.tracker:MlflowTracker",
        "Log every run, and every grid as a parent run with a run for each cell, to MLflow.",
    )
