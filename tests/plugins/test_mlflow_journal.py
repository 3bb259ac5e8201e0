"""A single run is logged when its results have been shown; what could not be logged is logged by the next command."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from commands import LIBRARIES, run_convrag
from convrag import Store
from convrag_mlflow import installation
from convrag_mlflow.addresses import describe_viewing
from convrag_mlflow.auto_tracker import AutoTracker
from convrag_mlflow.journal import Journal
from mlflow_database import ENVIRONMENT, copy_database, read_runs

pytest.importorskip("mlflow")

QUICK = ("generator=none", "limit=1")
WATCH = """
import sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "mlflow.entities":
            sys.stdout.write("MLflow is imported\\n")
sys.meta_path.insert(0, Watch())
from convrag.cli.main import main
main()
"""


@pytest.fixture
def here(tmp_path: Path, database: Path) -> Path:
    copy_database(database, tmp_path)
    return tmp_path


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_convrag(arguments, folder, environment=ENVIRONMENT, libraries=LIBRARIES)


def watch(*arguments: str, folder: Path) -> str:
    """What a command printed, with a line where it imported MLflow."""
    command = [sys.executable, "-c", WATCH, *arguments]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return done.stdout


def test_results_are_shown_before_mlflow_is_imported(here: Path) -> None:
    printed = watch(*QUICK, folder=here)
    lines = [printed.index(text) for text in ("Results: ", "MLflow is imported", "Logged to MLflow. To look at it: ")]
    assert lines == sorted(lines)
    assert "mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db, then open http://" in printed.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--help",), ("task=plugins",), ("--cfg", "job"), ("tracker=none", *QUICK)])
def test_mlflow_is_not_imported_for_nothing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert "MLflow is imported" not in watch(*arguments, folder=tmp_path)


def test_without_a_tracker_the_last_line_says_that_nothing_is_logged(here: Path) -> None:
    done = convrag(*QUICK, "tracker=none", folder=here)
    assert done.stdout.splitlines()[-1].startswith("Not logged to MLflow (tracker=none). The same command without")
    grid = ("-m", *QUICK, "rewriter=none,last_n")
    done = convrag(*grid, "tracker=none", folder=here)
    assert done.stderr.splitlines()[-1].startswith("convrag: Not logged to MLflow (tracker=none).")
    assert not list(here.glob("outputs/mlflow/*"))
    done = convrag(*grid, folder=here)
    assert done.stderr.splitlines()[-1].startswith("convrag: Logged to MLflow.")
    assert [run["tags"]["convrag.kind"] for run in read_runs(here)] == ["sweep", "run", "run"]
    assert "reused" in done.stderr


def test_a_run_that_cannot_be_logged_keeps_its_results_and_is_logged_by_the_next_command(here: Path) -> None:
    path = here / "outputs/mlflow.db"
    good = path.read_bytes()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'of another version'")
    connection.close()
    done = convrag(*QUICK, folder=here)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Not logged to MLflow: tracker.uri=sqlite:///outputs/mlflow.db cannot be used:")
    assert last.endswith("The next command tries again.")
    assert list(here.glob("outputs/*/*/metrics.json"))
    path.write_bytes(good)
    assert convrag(*QUICK, folder=here).returncode == 0
    first, second = read_runs(here)
    assert [first["status"], second["status"]] == ["FINISHED"] * 2
    assert first["metrics"]["nDCG_at_5"] == second["metrics"]["nDCG_at_5"]
    assert first["end"] <= second["start"]
    assert "metrics.json" in first["files"]
    assert not list(here.glob("outputs/mlflow/unlogged/*.json"))


def test_a_file_that_is_no_database_is_refused_before_the_first_turn(here: Path) -> None:
    (here / "outputs/mlflow.db").write_bytes(b"this is a text of mine")
    done = convrag(*QUICK, folder=here)
    assert done.returncode == 2
    assert "this file is no database of SQLite" in done.stderr
    assert (here / "outputs/mlflow.db").read_bytes() == b"this is a text of mine"


def test_entries_that_cannot_be_read_stay(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.start({"experiment": "convrag"}).end()
    for number, text in enumerate(["", "[]", "{}", '{"process": 1, "started": "x"}', '{"process": "x", "started": 1']):
        (tmp_path / f"{number}.json").write_text(text)
    with journal.take_due() as entries:
        assert [entry.row["experiment"] for entry in entries] == ["convrag"]
    assert len(list(tmp_path.glob("*.json"))) == 6


def test_an_entry_of_a_living_process_is_not_due(tmp_path: Path) -> None:
    entry = Journal(tmp_path).start({})
    assert not entry.is_due
    assert json.loads(entry.path.read_text())["started"] > 0
    entry.end("an error")
    assert entry.is_due


def test_parts_of_mlflow_that_do_not_fit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"mlflow": "3.18.0", "mlflow-skinny": "3.17.2"}
    monkeypatch.setattr(installation, "find_version", lambda name: versions.get(name, ""))
    assert "mlflow 3.18.0 and mlflow-skinny 3.17.2" in installation.find_problem()
    assert "pip install mlflow==3.17.2 mlflow-skinny==3.17.2" in installation.find_problem()
    monkeypatch.setattr(installation, "is_installed", lambda module: module != "alembic")
    assert installation.find_problem() == "alembic is not installed: pip install alembic"
    store = Store(tmp_path / "store")
    assert list(AutoTracker(store=store).check()) == [], "it goes on without"
    (problem,) = AutoTracker(store=store, traces=True).check()
    assert problem == "{place}.traces=true: alembic is not installed: pip install alembic"


def test_the_page_is_another_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_mlflow.addresses.find_version", lambda name: "")
    monkeypatch.setattr("convrag_mlflow.addresses.is_installed", lambda name: False)
    uri = "sqlite:///outputs/mlflow.db"
    assert describe_viewing(uri, "x").endswith(
        f"pip install 'convrag[mlflow]', then mlflow ui --backend-store-uri {uri}"
    )
    assert (
        describe_viewing("http://me:password@host:5000", "x") == "Logged to MLflow at http://host:5000, experiment x."
    )
