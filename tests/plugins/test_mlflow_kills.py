"""Runs in MLflow whose process was killed, and grids that were gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from commands import LIBRARIES, StartedCommand, run_convrag
from convrag_mlflow.processes import describe_process, is_gone, mark_process
from mlflow_database import ENVIRONMENT, copy_database

pytest.importorskip("mlflow")

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are known on Linux alone")

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

ONE = ["rewriter=none"]
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


@linux
def test_the_next_command_closes_the_run_of_a_killed_process(here: Path) -> None:
    before = time.time()
    process = start(here, *ONE, after=0, pace=300)
    started = time.time()
    finish(here, *ONE)  # another run, which closes what is dead, and no run that lives
    finish(here, "-m", "rewriter=none")
    assert [(each["kind"], each["status"]) for each in runs(here)] == [
        ("run", "FINISHED"),
        ("sweep", "FINISHED"),
        ("run", "FINISHED"),
    ]
    kill(process)
    finish(here, "-m", "rewriter=last_n")  # a grid too
    states = [(each["kind"], each["status"]) for each in runs(here)]
    assert states[:2] == [("run", "KILLED"), ("run", "FINISHED")]
    first, *_ = runs(here)
    assert before < first["start"] / 1000 < started
    assert first["tags"]["convrag.error"] == f"process {process.pid} on {os.uname().nodename} was killed"
    assert not list(here.glob("outputs/mlflow/unlogged/*.json"))
    assert first["params"]["rewriter"] == "none"


@linux
def test_a_killed_grid_is_closed_by_another_command_and_goes_on_with_true_counts(here: Path) -> None:
    process = start(here, *GRID, after=2 * TURNS, pace=300)
    kill(process)
    finish(here, *ONE)
    states = [(each["kind"], each["status"]) for each in runs(here)]
    assert states == [
        ("sweep", "KILLED"),
        ("run", "FINISHED"),
        ("run", "FINISHED"),
        ("run", "KILLED"),
        ("run", "FINISHED"),
    ]
    assert "cells_ok" not in runs(here)[0]["metrics"]
    finish(here, *GRID)
    (parent,) = [each for each in runs(here) if each["kind"] == "sweep"]
    assert parent["status"] == "FINISHED"
    every = dict.fromkeys(("ok", "reused", "partial", "failed", "same", "left"), 0)
    told = {name.removeprefix("cells_"): value for name, value in parent["metrics"].items()}
    assert told == every | {"ok": 2, "reused": 2}
    children = [each for each in runs(here) if each["kind"] == "run" and "convrag.cell" in each["tags"]]
    assert [each["status"] for each in children] == ["FINISHED"] * 4


@linux
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


def mark(**changes: Any) -> str:
    return json.dumps({**json.loads(mark_process()), **changes})


@linux
def test_a_living_process_is_not_gone_and_a_dead_one_is() -> None:
    assert not is_gone(mark_process())
    process = subprocess.Popen(
        [sys.executable, "-c", "from convrag_mlflow.processes import *; print(mark_process(), flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    other = process.stdout.readline()
    assert not is_gone(other)
    assert describe_process(other).startswith(f"process {process.pid} on ")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(other), "nobody has asked for its status yet"
    process.communicate()
    assert is_gone(other)


@linux
@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"started": "1"}, True),  # its number has another process now
        ({"boot": "another"}, False),
        ({"boot": "another", "pid": 2**22 + 5}, False),
        ({"namespaces": ["pid:[1]"], "pid": 2**22 + 5}, False),  # in another container
        ({"pid": 2**22 + 5}, True),
        ({"pid": 1}, True),  # another process than the first one
        ({"pid": 2**80}, False),
        ({"pid": "x"}, False),
    ],
)
def test_in_doubt_a_process_lives(changes: dict[str, Any], gone: bool) -> None:
    assert is_gone(mark(**changes)) == gone


@linux
def test_the_processes_of_others_may_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert not is_gone(mark(pid=2**22 + 5)), "it exists, and /proc does not show it"


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "x", '{"pid": 1}'])
def test_no_mark_says_nothing(text: str) -> None:
    assert not is_gone(text)
