"""Runs and grids that `task=compare` is given by their ids in MLflow."""

from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, MissingExtra
from convrag_compare import mlflow_runs
from convrag_compare.find_runs import find_runs
from mlflow_database import copy_database, read_runs
from tasks import run_here, run_task

pytest.importorskip("mlflow")

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own

GRID = ["-m", "generator=none", "limit=2", "rewriter=none,last_n"]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory, database: Path) -> dict[str, Any]:
    """A grid in MLflow: its folder, its parent's id, and its cells' ids by rewriter."""
    folder = tmp_path_factory.mktemp("logged")
    copy_database(database, folder)
    done = run_here(GRID, folder)
    assert done.returncode == 0, done.stderr
    runs = read_runs(folder)
    (parent,) = [run["id"] for run in runs if run["tags"]["convrag.kind"] == "sweep"]
    cells = {
        run["params"]["rewriter"]: run["id"] for run in runs if run["tags"]["convrag.kind"] == "run"
    }
    return {"folder": folder, "parent": parent, **cells}


def test_a_grid_is_compared_by_the_id_of_its_parent(logged: dict[str, Any], tmp_path: Path) -> None:
    """The same leaderboard as the grid's own, without the folders of its cells."""
    uri = f"sqlite:///{logged['folder']}/outputs/mlflow.db"
    command = [
        "task=compare",
        f"task.runs=[{logged['parent']}]",
        f"task.tracking_uri={uri}",
        "sweep.baseline=rewriter=none",
        "tracker=none",
    ]
    done = run_task(command, tmp_path)
    assert done.returncode == 0, done.stderr
    (board,) = logged["folder"].glob("outputs/sweeps/*/leaderboard.csv")
    assert (tmp_path / "out/leaderboard.csv").read_text() == board.read_text()
    tables = list(logged["folder"].glob("outputs/sweeps/*/leaderboard.tex"))
    assert (tmp_path / "out/leaderboard.tex").read_text() == tables[0].read_text()
    assert (tmp_path / "out/report.html").exists()


def test_a_run_is_found_by_its_id(logged: dict[str, Any], tmp_path: Path) -> None:
    uri = f"sqlite:///{logged['folder']}/outputs/mlflow.db"
    (run,) = find_runs([logged["last_n"]], tmp_path, uri)
    assert run.choices["rewriter"] == "last_n"
    assert run.scores.turns
    assert run.folder == tmp_path / logged["last_n"]


def test_an_id_that_mlflow_does_not_know(logged: dict[str, Any], tmp_path: Path) -> None:
    uri = f"sqlite:///{logged['folder']}/outputs/mlflow.db"
    with pytest.raises(ConfigError, match="does not give the run 0000"):
        find_runs(["0" * 32], tmp_path, uri)
    nowhere = f"sqlite:///{tmp_path}/none.db"
    with pytest.raises(ConfigError, match="no MLflow database at"):
        find_runs(["0" * 32], tmp_path, nowhere)
    assert not list(tmp_path.iterdir())


def test_a_run_without_files(logged: dict[str, Any], tmp_path: Path) -> None:
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    source = logged["folder"] / "outputs/mlflow.db"
    (tmp_path / "mlflow.db").write_bytes(source.read_bytes())
    client = MlflowClient(tracking_uri=uri)
    run_id = client.create_run("0").info.run_id
    with pytest.raises(ConfigError, match=r"has no metrics\.json: it has not finished, or"):
        find_runs([run_id], tmp_path, uri)


def test_without_mlflow_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_runs, "is_installed", lambda module: False)
    with pytest.raises(MissingExtra, match="pip install 'mlflow-skinny'"):
        find_runs(["0" * 32], tmp_path, "sqlite:///outputs/mlflow.db")
