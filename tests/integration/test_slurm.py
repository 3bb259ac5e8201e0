"""A grid over a real Slurm cluster on this host: a node is drained, a job cancelled, a node fails."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from held_grid import PLAIN, let_go, read_states, started, wait_until
from killing import counting
from places import ROOT
from slurm_cluster import SACCT, SlurmCluster

pytestmark = pytest.mark.cluster
submitit = pytest.mark.skipif(not find_spec("submitit"), reason="needs hydra-submitit-launcher")

SLURM = (
    "hydra/launcher=submitit_slurm",
    "hydra.launcher.partition=debug",
    "hydra.launcher.timeout_min=5",
)


@pytest.fixture
def cluster(slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    return slurm


def has_two_jobs(cluster: SlurmCluster) -> Callable[[], bool]:
    return lambda: len(cluster.list_jobs()) == 2


@submitit
def test_a_grid_over_a_cluster_with_a_drained_node_makes_each_call_once(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    cluster.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    try:
        grid = counting(tmp_path, "-m", "rewriter=none,last_n", *PLAIN, *SLURM, itself=True)
        grid.finish()
        assert read_states(grid) == ["ok", "ok"]
        assert grid.asked() == grid.stored() > 0
        used = cluster.run("squeue", "-h", "-r", "-t", "all", "-o", "%T %N").splitlines()
        assert used[-2:] == ["COMPLETED n1"] * 2
    finally:
        cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")


@submitit
def test_after_a_cancelled_job_the_same_command_goes_on_and_pays_nothing_twice(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    grid = counting(
        tmp_path, "-m", "rewriter=none,last_n,weighted_history", *PLAIN, *SLURM, itself=True
    )
    with started(grid, has_two_jobs(cluster)) as process:
        cancelled, _ = cluster.list_jobs()
        cluster.run("scancel", cancelled)
        wait_until(lambda: cancelled not in cluster.list_jobs("RUNNING,COMPLETING"))
        cluster.run(
            "scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test"
        )  # its job goes on to its end
        try:
            let_go(grid)
            assert process.wait(timeout=120) == 1
            said = (tmp_path / "out.txt").read_text()
            assert "Traceback" not in said
            assert f"SlurmLauncher has given up: Job {cancelled}" in said
            assert "(state: CANCELLED)" in said
            stored, asked = grid.stored(), grid.asked()
            grid.finish()
            assert read_states(grid) == ["ok", "reused", "reused"]
            assert grid.asked() - asked == grid.stored() - stored
            assert grid.asked() <= grid.stored() + 1  # the call that was in flight
        finally:
            cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")


@submitit
def test_a_node_that_fails_has_its_job_run_by_another_one(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    grid = counting(tmp_path, "-m", "rewriter=none,last_n", *PLAIN, *SLURM, itself=True)
    with started(grid, has_two_jobs(cluster)) as process:
        cluster.run("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
        try:
            let_go(grid)
            status = process.wait(timeout=180)
            assert status == 0, (tmp_path / "out.txt").read_text()
            assert read_states(grid) == ["ok", "ok"]
            assert grid.asked() <= grid.stored() + 1
        finally:
            cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")


def test_the_page_shows_the_stand_in_for_sacct_that_the_tests_use() -> None:
    page = ROOT / "docs/grids.md"
    assert SACCT in page.read_text(encoding="utf-8")
