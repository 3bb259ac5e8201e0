"""`hydra/launcher=convrag_ray` without a cluster; tests/integration/test_ray.py has grids on one."""

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from convrag import ConfigError
from convrag.sdk.errors import JobLost, MissingExtra
from hydra_plugins.convrag_ray_launcher import ConvragRayLauncher
from hydra_plugins.convrag_ray_launcher._tasks import Command, check_cluster, run_cell_task


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hydra_plugins.convrag_ray_launcher._tasks.find_spec", lambda name: None)
    nothing: Any = None
    with pytest.raises(MissingExtra, match=r"hydra/launcher=convrag_ray needs ray.*convrag\[ray\]"):
        ConvragRayLauncher().setup(hydra_context=nothing, task_function=nothing, config=nothing)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hydra_plugins.convrag_ray_launcher._tasks.find_spec", lambda name: name)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:99999"])
def test_an_address_where_nothing_listens(installed: None, address: str) -> None:
    with pytest.raises(ConfigError, match=rf"address={address}: no cluster of Ray answers there: "):
        check_cluster(address)


def test_an_address_where_something_listens(installed: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_cluster(f"127.0.0.1:{server.getsockname()[1]}")
    for address in (None, "auto"):
        check_cluster(address)


def test_a_machine_without_the_folder_of_the_command(tmp_path: Path) -> None:
    nothing: Any = None
    command = Command(nothing, nothing, nothing, folder=str(tmp_path / "absent"))
    before = (Path.cwd(), list(sys.path))
    with pytest.raises(JobLost, match=r"absent: the folder of the command must be shared"):
        run_cell_task(command, [], 0)
    assert (Path.cwd(), list(sys.path)) == before


def test_the_launcher_is_an_option_and_its_parameters_are_checked(tmp_path: Path) -> None:
    grid = ["-m", "hydra/launcher=convrag_ray", "rewriter=none,last_n"]
    done = run_convrag([*grid, "hydra.launcher.nodes=2"], tmp_path)
    assert done.returncode == 2
    assert "hydra.launcher.nodes" in done.stderr
    assert list(tmp_path.iterdir()) == []
