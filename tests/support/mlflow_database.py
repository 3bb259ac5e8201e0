"""MLflow's database for tests: made once, copied for each of them, since making one takes seconds."""

import os
import subprocess
import sys
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "ignore"}


def make_database(folder: Path) -> Path:
    """Make an empty database that is migrated already."""
    code = (
        "from mlflow import MlflowClient; MlflowClient('sqlite:///mlflow.db').search_experiments()"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True
    )
    return folder / "mlflow.db"


def copy_database(database: Path, folder: Path) -> None:
    """Put a copy where commands in this folder look for theirs."""
    (folder / "outputs").mkdir()
    (folder / "outputs/mlflow.db").write_bytes(database.read_bytes())


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """All runs of the experiment, oldest first."""
    from mlflow import MlflowClient

    with chdir(folder), warnings.catch_warnings(action="ignore"):  # of its own libraries
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        experiment = client.get_experiment_by_name("convrag")
        found = (
            client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])
            if experiment
            else []
        )
        return [
            {
                "start": run.info.start_time,
                "end": run.info.end_time,
                "id": run.info.run_id,
                "status": run.info.status,
                "tags": run.data.tags,
                "params": run.data.params,
                "experiment": experiment.tags,
                "datasets": [
                    (
                        each.dataset.name,
                        each.dataset.digest,
                        each.dataset.profile,
                        each.tags[0].value,
                    )
                    for each in run.inputs.dataset_inputs
                ],
                "metrics": run.data.metrics,
                "steps": [
                    (m.step, m.value)
                    for m in client.get_metric_history(run.info.run_id, "by_turn/nDCG_at_5")
                ],
                "files": [item.path for item in client.list_artifacts(run.info.run_id)],
            }
            for run in found
        ]


def read_traces(
    folder: Path, run_id: str | None = None, *, experiment: str = "convrag"
) -> list[Any]:
    """The traces of an experiment, or of a run, oldest first."""
    from mlflow import MlflowClient

    with chdir(folder), warnings.catch_warnings(action="ignore"):
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        found = client.get_experiment_by_name(experiment)
        traces = (
            client.search_traces(locations=[found.experiment_id], run_id=run_id) if found else []
        )
    return sorted(traces, key=lambda trace: trace.data.spans[0].start_time_ns)


def name_stages(trace: Any) -> list[str]:
    """The spans below that of the turn, in their order."""
    root = trace.data.spans[0]
    return [span.name for span in trace.data.spans if span.parent_id == root.span_id]


def find_span(trace: Any, name: str) -> Any:
    """The one span of this name."""
    (span,) = [span for span in trace.data.spans if span.name == name]
    return span
