"""A grid over Ray (`hydra/launcher=convrag_ray`): a real cluster of two nodes on this host, whose
workers and nodes are killed; and a cluster that ends with the command.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from held_grid import PLAIN, let_go, read_states, started, wait_until
from killing import Grid, counting

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not find_spec("ray"), reason="needs ray (pip install 'convrag[ray]')"),
    pytest.mark.filterwarnings("default"),  # Ray's own, in this process
]

RAY = "hydra/launcher=convrag_ray"
_START = 180
"""Seconds within which two workers must run: each imports convrag anew."""

THREE = ("-m", "rewriter=none,last_n,weighted_history", *PLAIN, RAY)


@pytest.fixture(autouse=True, scope="module")
def ray_folder() -> Iterator[None]:
    """A folder for Ray's own files; its name is short, because sockets are in it."""
    with (
        TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield


@pytest.fixture
def cluster(ray_folder: None) -> Iterator[Any]:
    """A cluster of two nodes with one core each: Ray's own servers, started by Ray's own class."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def make_grid(folder: Path, *arguments: str) -> Grid:
    return counting(folder, *THREE, *arguments, itself=True)


def has_two_workers(grid: Grid) -> Callable[[], bool]:
    return lambda: len(find_workers(grid)) == 2


def find_workers(grid: Grid) -> list[int]:
    """The processes of Ray that run a cell of this grid."""
    running = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in running if _runs_cell(pid, grid.folder)]


def _runs_cell(pid: int, folder: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        place = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False
    return command.startswith(b"ray::run_cell_task") and place == folder


def find_parent(pid: int) -> int:
    """The raylet of a worker: the server of its node."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def wait_for_end(grid: Grid, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Its exit status, and its output."""
    status = process.wait(timeout=240)
    return status, (grid.folder / "out.txt").read_text()


def test_a_killed_worker_costs_its_calls_in_flight_and_nothing_more(
    cluster: Any, tmp_path: Path
) -> None:
    grid = make_grid(tmp_path, f"hydra.launcher.address={cluster.address}")
    with started(grid, has_two_workers(grid), _START) as process:
        workers = find_workers(grid)
        assert len({find_parent(worker) for worker in workers}) == 2, "one on each node"
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: workers[0] not in find_workers(grid))
        let_go(grid)
        status, output = wait_for_end(grid, process)
    assert status == 0, output
    assert read_states(grid) == ["ok"] * 3
    assert grid.stored() <= grid.asked() <= grid.stored() + 1


def test_the_cells_of_a_node_that_fails_run_on_the_other(cluster: Any, tmp_path: Path) -> None:
    grid = make_grid(tmp_path, f"hydra.launcher.address={cluster.address}")
    with started(grid, has_two_workers(grid), _START) as process:
        (node,) = cluster.worker_nodes
        cluster.remove_node(node, allow_graceful=False)
        wait_until(lambda: len(find_workers(grid)) == 1)
        let_go(grid)
        status, output = wait_for_end(grid, process)
    assert status == 0, output
    assert read_states(grid) == ["ok"] * 3
    assert grid.stored() <= grid.asked() <= grid.stored() + 1


def test_a_cell_that_is_not_run_again_has_failed_and_the_others_go_on(
    cluster: Any, tmp_path: Path
) -> None:
    grid = make_grid(
        tmp_path, f"hydra.launcher.address={cluster.address}", "hydra.launcher.max_retries=0"
    )
    with started(grid, has_two_workers(grid), _START) as process:
        os.kill(find_workers(grid)[0], signal.SIGKILL)
        let_go(grid)
        status, output = wait_for_end(grid, process)
    assert status == 1
    assert "Traceback" not in output
    assert "this cell failed: the task of this cell was lost" in output
    assert read_states(grid) == ["failed", "ok", "ok"]
    grid.finish()
    assert read_states(grid) == ["ok", "reused", "reused"]
    assert grid.asked() <= grid.stored() + 1


def test_a_signal_ends_the_grid_and_its_own_cluster(tmp_path: Path) -> None:
    grid = make_grid(tmp_path, "hydra.launcher.num_cpus=2")
    with started(grid, has_two_workers(grid), _START) as process:
        os.kill(process.pid, signal.SIGTERM)
        assert wait_for_end(grid, process)[0] == 143
        wait_until(lambda: not find_workers(grid), 15)  # while the call still hangs
    grid.finish()


def test_a_cluster_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    grid = make_grid(tmp_path, "hydra.launcher.address=127.0.0.1:9")
    process = grid.start()
    assert isinstance(process, subprocess.Popen)
    status, output = wait_for_end(grid, process)
    assert status == 2
    assert "Traceback" not in output
    assert "hydra.launcher.address=127.0.0.1:9: no cluster of Ray answers there: " in output
    assert grid.asked() == 0
