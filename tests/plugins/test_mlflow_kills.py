"""Grids in MLflow whose process was killed or interrupted, and that were gone on with."""

import signal
import subprocess
import time
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from commands import LIBRARIES, StartedCommand, run_convrag
from mlflow_database import ENVIRONMENT, copy_database

pytest.importorskip("mlflow")

SLOW = """
import os, time
from pathlib import Path
from convrag import Answer, Generator, hookimpl

class Slow(Generator):
    "After so many calls, each takes as many seconds as it is told."
    def messages(self, question):
        return ()
    def generate(self, question, evidence):
        if "PACE" in os.environ:
            with Path("asked").open("a") as file:
                file.write("x")
            if asked() > int(os.environ["AFTER"]):
                time.sleep(float(os.environ["PACE"]))
        return Answer("it")

def asked():
    return Path("asked").stat().st_size

@hookimpl
def convrag_register(register):
    register("generator", "slow", Slow)
"""
SETTINGS = ["plugins=[slow.py]", "generator=slow", "limit=1", "tracker=mlflow", "metrics=[]"]
TURNS = 7
"""In the first conversation of the sample."""

GRID = ["-m", "rewriter=none,last_n,full_history,all_questions"]


@pytest.fixture
def here(tmp_path: Path, database: Path) -> Path:
    copy_database(database, tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


def start(folder: Path, *arguments: str, after: int, pace: float) -> StartedCommand:
    """Start a command and wait until it has made more than so many calls of its generator, and is slow from then on."""
    environment = {**ENVIRONMENT, "PACE": str(pace), "AFTER": str(after)}
    nothing = subprocess.DEVNULL
    process = StartedCommand(
        [*arguments, *SETTINGS], folder, environment=environment, libraries=LIBRARIES, stdout=nothing, stderr=nothing
    )
    deadline, path = time.monotonic() + 240, folder / "asked"
    while not path.exists() or path.stat().st_size <= after:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def kill(process: StartedCommand) -> None:
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL


def finish(folder: Path, *arguments: str) -> None:
    """Run a command to its end, which must be a good one."""
    done = run_convrag([*arguments, *SETTINGS], folder, environment=ENVIRONMENT, libraries=LIBRARIES)
    assert done.returncode == 0, done.stdout + done.stderr


def runs(folder: Path) -> list[dict[str, Any]]:
    """All runs, oldest first."""
    from mlflow import MlflowClient

    with chdir(folder), warnings.catch_warnings(action="ignore"):
        client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
        experiment = client.get_experiment_by_name("convrag").experiment_id
        found = client.search_runs([experiment], order_by=["attributes.start_time"])
    return [
        {"kind": run.data.tags["convrag.kind"], "id": run.info.run_id, "status": run.info.status, "tags": run.data.tags}
        | {"metrics": run.data.metrics, "params": run.data.params, "start": run.info.start_time}
        for run in found
    ]


@pytest.mark.slow
def test_a_killed_grid_goes_on_with_true_counts(here: Path) -> None:
    process = start(here, *GRID, after=2 * TURNS, pace=300)
    kill(process)
    assert [(each["kind"], each["status"]) for each in runs(here)] == [
        ("sweep", "RUNNING"),
        ("run", "FINISHED"),
        ("run", "FINISHED"),
    ]
    finish(here, *GRID)
    (parent,) = [each for each in runs(here) if each["kind"] == "sweep"]
    assert parent["status"] == "FINISHED"
    every = dict.fromkeys(("ok", "reused", "partial", "failed", "same", "left"), 0)
    told = {name.removeprefix("cells_"): value for name, value in parent["metrics"].items()}
    assert told == every | {"ok": 2, "reused": 2}
    assert [each["status"] for each in runs(here) if each["kind"] == "run"] == ["FINISHED"] * 4


@pytest.mark.slow
def test_a_grid_that_was_gone_on_with_has_the_counts_of_its_last_try(here: Path) -> None:
    """The larger values of earlier tries do not win."""
    process = start(here, *GRID, after=3 * TURNS, pace=2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    (parent,) = [each for each in runs(here) if each["kind"] == "sweep"]
    first = parent["metrics"]
    assert (first["cells_ok"], first["cells_left"]) == (3, 1)
    finish(here, *GRID)
    (parent,) = [each for each in runs(here) if each["kind"] == "sweep"]
    last = parent["metrics"]
    assert [last[f"cells_{name}"] for name in ("ok", "reused", "left")] == [1, 3, 0]
    with warnings.catch_warnings(action="ignore"):
        from mlflow import MlflowClient

        client = MlflowClient(f"sqlite:///{here}/outputs/mlflow.db")
        history = client.get_metric_history(parent["id"], "cells_ok")
    assert [(each.step, each.value) for each in history] == [(0, 3), (1, 1)]
    assert abs(history[-1].timestamp / 1000 - time.time()) < 120
