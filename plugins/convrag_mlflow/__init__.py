"""Keeps runs and grids in MLflow.

* `tracker`: `tracker=mlflow` and `tracker=auto`: the events at which something is logged.
* `addresses`: addresses of MLflow, and what to type to look at what is logged.
* `connection`: an experiment that is connected to when it is first used.
* `database`: MLflow's database, whose tables one process at a time makes.
* `experiment`: the runs of an experiment.
* `experiment_state`: what keeps an experiment from taking runs.
* `grid_runs`: a grid's parent run, and the runs of its cells.
* `keys`: names of parameters, metrics and tags in forms that MLflow takes.
* `run_data`: names, parameters, metrics, tags and data sets of runs.
* `stage_options`: the options of stages, as names and tags show them.
* `turn_trace`: turns as traces, stored until a run's end, or written in a thread.
* `trace_log`: writes and deletes traces.
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
        "Log to MLflow as `tracker=mlflow` does if it is installed; otherwise log nothing.",
    )
    register(
        "tracker",
        "mlflow",
        "convrag_mlflow.tracker:MlflowTracker",
        "Log every run, and every grid as a parent run with a run for each cell, to MLflow.",
    )
