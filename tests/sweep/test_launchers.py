"""Grids whose cells run in several processes, as Hydra's launchers start them."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from commands import run_convrag

pytestmark = pytest.mark.slow

GRID = ("rewriter=none,last_n", "top_n=2,3", "limit=1", "metrics.ranking.measures=[nDCG@5]")
SUBMITIT = ("hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5")


def installed(module: str) -> bool:
    return (
        find_spec("hydra_plugins") is not None and find_spec(f"hydra_plugins.{module}") is not None
    )


joblib = pytest.mark.skipif(
    not installed("hydra_joblib_launcher"), reason="needs hydra-joblib-launcher"
)
submitit = pytest.mark.skipif(
    not installed("hydra_submitit_launcher"), reason="needs hydra-submitit-launcher"
)


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "convrag", "-m", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def boards(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("outputs/sweeps/*/leaderboard.*"))]


def read_states(output: str) -> list[str]:
    """The last column of the leaderboard's first table, from top to bottom."""
    return re.findall(r" (ok|reused|failed) *$", output, re.MULTILINE)


def check_calls(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Check that each distinct call was made once: as many as the new store has results."""
    found = re.search(r"Calls of stages and metrics: ([\d,]+) made, ", done.stderr)
    assert found, done.stderr
    with closing(sqlite3.connect(folder / "outputs/store/store.sqlite")) as store:
        ((results,),) = store.execute("SELECT count(*) FROM entries")
    assert int(found[1].replace(",", "")) == results > 0


@joblib
def test_two_processes_make_each_distinct_call_once(tmp_path: Path) -> None:
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "workers=8", "tracker=none")
    done = convrag(*GRID, *launcher, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    check_calls(done, tmp_path)
    (alone := tmp_path / "alone").mkdir()
    assert run_convrag(["-m", *GRID, "tracker=none"], alone).returncode == 0
    assert boards(alone) == boards(tmp_path)
    again = convrag(*GRID, *launcher, folder=tmp_path)
    assert read_states(again.stdout) == ["reused"] * 4


@submitit
def test_a_job_for_each_cell(tmp_path: Path) -> None:
    done = convrag("rewriter=none,replay", "limit=1", *SUBMITIT, "tracker=none", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    check_calls(done, tmp_path)
    assert sorted(read_states(done.stdout)) == ["failed", "ok"]
