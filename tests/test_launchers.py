"""Grids whose cells run in several processes, as Hydra's launchers start them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from killing import counting

pytestmark = pytest.mark.slow

GRID = ("rewriter=none,last_n", "top_n=2,3", "limit=1", "metrics.ranking.measures=[nDCG@5]")
ONCE = "one for each distinct call that has a result: each was made once."
SUBMITIT = ("hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5")
RUNS = """
import json
from mlflow import MlflowClient
client = MlflowClient("sqlite:///outputs/mlflow.db")
experiment = client.get_experiment_by_name("convrag").experiment_id
print(json.dumps([[run.info.run_id, run.info.status, run.data.tags] for run in client.search_runs([experiment])]))
"""


def installed(module: str) -> bool:
    return find_spec("hydra_plugins") is not None and find_spec(f"hydra_plugins.{module}") is not None


joblib = pytest.mark.skipif(not installed("hydra_joblib_launcher"), reason="needs hydra-joblib-launcher")
submitit = pytest.mark.skipif(not installed("hydra_submitit_launcher"), reason="needs hydra-submitit-launcher")


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "convrag", "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def boards(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("outputs/sweeps/*/leaderboard.*"))]


def read_states(output: str) -> list[str]:
    """The last column of the leaderboard's first table, from top to bottom."""
    return re.findall(r" (ok|reused|failed) *$", output, re.MULTILINE)


def tracked(folder: Path) -> tuple[list[Any], list[Any]]:
    """(id, status, tags) of the parents and of the children in MLflow."""
    done = subprocess.run([sys.executable, "-c", RUNS], cwd=folder, capture_output=True, text=True, check=True)
    runs = json.loads(done.stdout)
    return tuple([run for run in runs if run[2]["convrag.kind"] == kind] for kind in ("sweep", "run"))  # type: ignore[return-value]


def read_costs(folder: Path) -> str:
    (path,) = folder.glob("outputs/sweeps/*/costs.md")
    return path.read_text(encoding="utf-8")


@joblib
def test_two_processes_make_each_distinct_call_once(tmp_path: Path) -> None:
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "workers=8", "tracker=none")
    done = convrag(*GRID, *launcher, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ONCE in read_costs(tmp_path)
    (alone := tmp_path / "alone").mkdir()
    assert run_convrag(["-m", *GRID, "tracker=none"], alone).returncode == 0
    assert boards(alone) == boards(tmp_path)
    again = convrag(*GRID, *launcher, folder=tmp_path)
    assert read_states(again.stdout) == ["reused"] * 4


@pytest.mark.thorough  # three quarters of a minute
@joblib
@pytest.mark.skipif(not find_spec("mlflow"), reason="needs mlflow")
def test_two_processes_that_are_interrupted_leave_nothing_open_in_mlflow(tmp_path: Path) -> None:
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "tracker=mlflow")
    grid = counting(tmp_path, "-m", "rewriter=none,last_n", "limit=3", "generator=direct", *launcher, itself=True)
    process = grid.start()
    deadline = time.monotonic() + 120
    while grid.asked() < 6:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) == 130
    parents, children = tracked(tmp_path)
    assert [run[1] for run in parents] == ["KILLED"]
    assert {run[1] for run in children} <= {"KILLED", "FAILED", "FINISHED"}
    grid.finish()
    parents, children = tracked(tmp_path)
    assert [run[1] for run in parents + children] == ["FINISHED"] * 3


@submitit
def test_a_job_for_each_cell(tmp_path: Path) -> None:
    done = convrag("rewriter=none,replay", "limit=1", *SUBMITIT, "tracker=none", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "none was made twice" in read_costs(tmp_path) or ONCE in read_costs(tmp_path)
    assert sorted(read_states(done.stdout)) == ["failed", "ok"]
