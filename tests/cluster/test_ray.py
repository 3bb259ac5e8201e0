"""A grid over Ray (`hydra/launcher=convrag_ray`): workers are killed, the command gets a signal."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from held_grid import PLAIN, let_go, read_states, started, wait_until
from killing import Grid, counting

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not find_spec("ray"), reason="needs ray (pip install 'convrag[ray]')"),
]

RAY = ("hydra/launcher=convrag_ray", "hydra.launcher.num_cpus=2")


@pytest.fixture(autouse=True)
def ray_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for Ray's own files; its name is short, because sockets stand in it."""
    with TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        yield


def has_two_workers(grid: Grid) -> Callable[[], bool]:
    return lambda: len(find_workers(grid)) >= 2


def find_workers(grid: Grid) -> list[int]:
    """The processes of Ray that run a cell of this grid."""
    running = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    return [pid for pid in running if _runs_cell(pid, grid.folder)]


def _runs_cell(pid: int, folder: Path) -> bool:
    try:
        command, place = Path(f"/proc/{pid}/cmdline").read_bytes(), Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False
    return command.startswith(b"ray::run_cell_task") and place == folder


def end(grid: Grid, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Its exit status, and what it said."""
    status = process.wait(timeout=120)
    return status, (grid.folder / "out.txt").read_text()


def test_a_worker_that_is_killed_costs_its_calls_in_flight_and_nothing_more(tmp_path: Path) -> None:
    grid = counting(tmp_path, "-m", "rewriter=none,last_n,weighted_history", *PLAIN, *RAY, itself=True)
    with started(grid, has_two_workers(grid)) as process:
        os.kill(find_workers(grid)[0], signal.SIGKILL)
        let_go(grid)
        status, said = end(grid, process)
    assert status == 0, said
    assert "the task will be retried" in said
    assert read_states(grid) == ["ok"] * 3
    assert grid.stored() <= grid.asked() <= grid.stored() + 1


def test_a_cell_whose_workers_are_killed_again_and_again_has_failed_and_the_others_go_on(tmp_path: Path) -> None:
    retries = "hydra.launcher.max_retries=0"
    grid = counting(tmp_path, "-m", "rewriter=none,last_n,weighted_history", *PLAIN, *RAY, retries, itself=True)
    with started(grid, has_two_workers(grid)) as process:
        os.kill(find_workers(grid)[0], signal.SIGKILL)
        let_go(grid)
        status, said = end(grid, process)
    assert status == 1
    assert "this cell failed: the task of this cell was lost" in said
    assert read_states(grid) == ["failed", "ok", "ok"]
    asked = grid.asked()
    grid.finish()
    assert read_states(grid) == ["ok", "reused", "reused"]
    assert grid.asked() <= grid.stored() + 1
    assert grid.asked() >= asked


def test_a_signal_ends_the_grid_and_its_workers(tmp_path: Path) -> None:
    grid = counting(tmp_path, "-m", "rewriter=none,last_n", *PLAIN, *RAY, itself=True)
    with started(grid, has_two_workers(grid)) as process:
        os.kill(process.pid, signal.SIGTERM)
        assert end(grid, process)[0] == 143
        wait_until(lambda: not find_workers(grid), 15)  # while the call still hangs
    grid.finish()
