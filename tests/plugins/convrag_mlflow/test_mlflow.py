import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from commands import LIBRARIES, StartedCommand, run_convrag
from convrag import ConfigError
from convrag.api.errors import FolderInUse
from convrag.concurrency.locks import hold_folder
from convrag.testing import TrackerContract
from convrag_mlflow import connection
from convrag_mlflow.addresses import describe_viewing
from convrag_mlflow.connection import find_problem
from convrag_mlflow.experiment_state import describe_unwritable
from convrag_mlflow.tracker import AutoTracker, MlflowTracker
from mlflow_database import ENVIRONMENT, copy_database, read_runs
from tasks import run_here, run_task

pytest.importorskip("mlflow")
from mlflow.exceptions import MlflowException

QUICK = ("generator=none", "limit=2")


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_convrag(arguments, folder, environment=ENVIRONMENT, libraries=LIBRARIES)


def start(*arguments: str, folder: Path, output: IO[str]) -> StartedCommand:
    return StartedCommand(
        arguments,
        folder,
        environment=ENVIRONMENT,
        libraries=LIBRARIES,
        stdout=output,
        stderr=output,
    )


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


@pytest.mark.filterwarnings("ignore")  # MLflow's own libraries
class TestContract(TrackerContract):
    @pytest.fixture(autouse=True)
    def _database(self, tmp_path: Path, database: Path) -> None:
        self.path = tmp_path / "mlflow.db"
        self.path.write_bytes(database.read_bytes())

    def make(self) -> MlflowTracker:
        return MlflowTracker(uri=f"sqlite:///{self.path}")


@pytest.mark.filterwarnings("ignore")
class TestAutoContract(TestContract):
    def make(self) -> AutoTracker:
        return AutoTracker(uri=f"sqlite:///{self.path}")


@pytest.fixture
def here(tmp_path: Path, database: Path) -> Path:
    copy_database(database, tmp_path)
    return tmp_path


IGNORED = pytest.mark.filterwarnings("ignore")  # MLflow's own


@IGNORED
def test_a_single_run_is_logged(here: Path) -> None:
    done = run_task(
        [
            "generator=direct",
            "limit=2",
            "rewriter=last_n",
            "rewriter.n=3",
            f"sweep.baseline={'d' * 6500}",
        ],
        here,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = read_runs(here)
    assert len(run["params"]["sweep.baseline"]) == 6000
    assert run["status"] == "FINISHED"
    assert run["params"]["rewriter"] == "last_n"
    assert run["params"]["rewriter.n"] == "3"
    assert run["params"]["top_k"] == "10"
    assert 0 < run["metrics"]["nDCG_at_5"] <= 1
    assert run["metrics"]["default/nDCG_at_5"] == run["metrics"]["nDCG_at_5"]
    assert [step for step, _ in run["steps"]] == list(range(1, len(run["steps"]) + 1))
    assert len(run["steps"]) > 2
    assert {"config.yaml", "metrics.json", "run.trec", "intermediate", "prompts"} <= set(
        run["files"]
    )
    assert run["tags"]["mlflow.runName"] == "sample: rewriter=last_n generator=direct"
    ((name, digest, profile, context),) = run["datasets"]
    assert (name, len(digest), context) == ("sample", 12, "evaluation")
    assert json.loads(profile)["conversations"] == 2
    assert (
        run["experiment"]["mlflow.experimentKind"] == "custom_model_development"
    )  # the page opens on the runs
    assert run["tags"]["fingerprint.rewriter"]
    assert run["tags"]["version.convrag"]


@IGNORED
def test_a_grid_is_a_parent_with_children_and_is_gone_on_with(here: Path) -> None:
    for _ in range(2):
        done = run_here(["-m", *QUICK, "rewriter=none,last_n,replay"], here)
        assert done.returncode == 1
    parents = [run for run in read_runs(here) if run["tags"]["convrag.kind"] == "sweep"]
    children = [run for run in read_runs(here) if run["tags"]["convrag.kind"] == "run"]
    (parent,) = parents
    assert parent["status"] == "FAILED"
    assert parent["tags"]["mlflow.runName"].startswith("grid rewriter (")
    assert parent["tags"]["mlflow.note.content"].startswith("# Leaderboard")
    assert parent["params"] == {"rewriter": "none, last_n, replay"}
    assert {"leaderboard.md", "costs.md"} <= set(parent["files"])
    assert sorted(child["tags"]["mlflow.runName"] for child in children) == [
        "last_n",
        "none",
        "replay",
    ]
    assert [[name for name, *_ in run["datasets"]] for run in (parent, *children)] == [
        ["sample"]
    ] * 3 + [[]]
    assert [child["tags"]["mlflow.parentRunId"] for child in children] == [parent["id"]] * 3
    assert sorted(child["status"] for child in children) == ["FAILED", "FINISHED", "FINISHED"]
    (failed,) = [child for child in children if child["status"] == "FAILED"]
    assert "rewriter.path" in failed["tags"]["convrag.error"]
    assert "error.txt" in failed["files"]
    assert parent["metrics"]["cells_reused"] == 2


@pytest.mark.slow
def test_a_database_that_was_lost_is_filled_again(here: Path, database: Path) -> None:
    """Also where some cells are the same experiment as others, and have no run."""
    grid = ("-m", *QUICK, "rewriter=none,last_n", "clusterer=lsa,kmeans")
    assert convrag(*grid, folder=here).returncode == 0
    (here / "outputs/mlflow.db").write_bytes(database.read_bytes())
    assert convrag(*grid, folder=here).returncode == 0
    children = [run for run in read_runs(here) if run["tags"]["convrag.kind"] == "run"]
    assert [child["status"] for child in children] == ["FINISHED"] * 2
    assert all(child["metrics"]["nDCG_at_5"] > 0 for child in children)
    (parent,) = [run for run in read_runs(here) if run["tags"]["convrag.kind"] == "sweep"]
    assert (parent["metrics"]["cells_same"], parent["metrics"]["cells_reused"]) == (2, 2)
    assert "sweep.json" in parent["files"]
    assert not [name for name in parent["files"] if name.endswith(".lock")]


@pytest.mark.slow
def test_processes_with_stores_of_their_own_and_a_grid_on_a_fresh_database(tmp_path: Path) -> None:
    commands = [
        ["limit=1", "generator=none", f"top_k={n}", f"store.path=store{n}"] for n in range(3, 6)
    ]
    commands.append(["-m", "limit=1", "generator=none", "rewriter=none,last_n"])
    started = []
    for number, command in enumerate(commands):
        with (tmp_path / f"{number}.txt").open("w") as file:
            started.append(start(*command, folder=tmp_path, output=file))
    assert [process.wait(timeout=300) for process in started] == [0] * 4
    written = [(tmp_path / f"{number}.txt").read_text() for number in range(4)]
    assert all("Logged to MLflow" in text for text in written), written
    assert [run["status"] for run in read_runs(tmp_path)] == ["FINISHED"] * 6, written


@IGNORED
def test_a_run_that_is_ended_as_abandoned_is_held_meanwhile(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its process might begin again, and end it, between the question and the answer."""
    from convrag_mlflow.experiment import FOLDER, KIND, Experiment

    experiment = Experiment(f"sqlite:///{here}/outputs/mlflow.db", "convrag")
    abandoned = here / "outputs/abandoned"
    abandoned.mkdir()
    experiment.create_run("abandoned", {KIND: "run", FOLDER: str(abandoned)})
    set_terminated = experiment.client.set_terminated
    in_use = []

    def look(run_id: str, status: str) -> None:
        with ThreadPoolExecutor() as pool:
            in_use.append(pool.submit(is_in_use, abandoned).result())
        set_terminated(run_id, status)

    monkeypatch.setattr(experiment.client, "set_terminated", look)
    experiment.end_abandoned(here / "outputs/new")
    assert in_use == [True]
    assert not is_in_use(abandoned)
    assert [run["status"] for run in read_runs(here)] == ["KILLED"]


def is_in_use(folder: Path) -> bool:
    try:
        with hold_folder(folder):
            return False
    except FolderInUse:
        return True


@IGNORED
def test_a_database_that_was_half_made_when_a_process_was_killed_does_no_harm(
    tmp_path: Path,
) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs/mlflow.db.unfinished").write_bytes(b"half")
    done = run_task(QUICK, tmp_path)
    assert done.returncode == 0, done.stderr
    assert [run["status"] for run in read_runs(tmp_path)] == ["FINISHED"]
    assert not list(tmp_path.glob("outputs/*.unfinished*"))


@IGNORED
def test_an_address_that_cannot_be_used_is_one_message(tmp_path: Path) -> None:
    done = run_task(
        [*QUICK, "tracker=mlflow", "tracker.uri=sqlite:////proc/nowhere/mlflow.db"], tmp_path
    )
    assert done.returncode == 2
    assert "tracker.uri" in done.stderr
    assert "Traceback" not in done.stderr


def watch(*arguments: str, folder: Path) -> str:
    """What a command printed, with a line where it imported MLflow."""
    command = [sys.executable, "-c", WATCH, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_results_are_shown_before_mlflow_is_imported(here: Path) -> None:
    printed = watch(*QUICK, folder=here)
    lines = [
        printed.index(text)
        for text in ("Results: ", "MLflow is imported", "Logged to MLflow. To look at it: ")
    ]
    assert lines == sorted(lines)
    assert (
        "mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db, then open http://"
        in printed.splitlines()[-1]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("--help",), ("task=plugins",), ("--cfg", "job"), ("tracker=none", *QUICK)]
)
def test_mlflow_is_not_imported_for_nothing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert "MLflow is imported" not in watch(*arguments, folder=tmp_path)


@pytest.mark.slow
@IGNORED
def test_without_a_tracker_the_last_line_says_that_nothing_is_logged(here: Path) -> None:
    done = run_here([*QUICK, "tracker=none"], here)
    assert done.stdout.splitlines()[-1].startswith(
        "Not logged to MLflow (tracker=none). The same command without"
    )
    grid = ("-m", *QUICK, "rewriter=none,last_n")
    done = run_here([*grid, "tracker=none"], here)
    assert done.stderr.splitlines()[-1].startswith("convrag: Not logged to MLflow (tracker=none).")
    assert not list(here.glob("outputs/mlflow/*"))
    done = run_here(grid, here)
    assert done.stderr.splitlines()[-1].startswith("convrag: Logged to MLflow.")
    assert [run["tags"]["convrag.kind"] for run in read_runs(here)] == ["sweep", "run", "run"]
    assert "reused" in done.stderr


@IGNORED
def test_a_run_that_cannot_be_logged_keeps_its_results(here: Path) -> None:
    with sqlite3.connect(here / "outputs/mlflow.db") as database:
        database.execute("UPDATE alembic_version SET version_num = 'of another version'")
    database.close()
    done = run_task(QUICK, here)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith(
        "Not logged to MLflow: tracker.uri=sqlite:///outputs/mlflow.db cannot be used:"
    )
    assert last.endswith("The same command again logs it.")
    assert list(here.glob("out/metrics.json"))


def test_a_part_of_mlflow_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "is_installed", lambda module: module != "alembic")
    assert find_problem() == "not installed: alembic (pip install alembic)"
    assert list(AutoTracker().check()) == [], "it goes on without"
    (problem,) = AutoTracker(traces=True).check()
    assert problem == "{place}.traces=true: not installed: alembic (pip install alembic)"


def test_the_page_is_another_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.distributions", lambda **name: [])
    monkeypatch.setattr("convrag_mlflow.addresses.is_installed", lambda name: False)
    uri = "sqlite:///outputs/mlflow.db"
    assert describe_viewing(uri, "x").endswith(
        f"pip install 'convrag[mlflow]', then mlflow ui --backend-store-uri {uri}"
    )
    assert (
        describe_viewing("http://me:password@host:5000", "x")
        == "Logged to MLflow at http://host:5000, experiment x."
    )


@contextmanager
def hold_in_another_thread(folder: Path) -> Iterator[None]:
    """Hold a folder as a run in progress does."""
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        with hold_folder(folder):
            held.set()
            released.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    yield
    released.set()
    thread.join()


def leave_running(folder: Path) -> None:
    """What a kill leaves: runs that nobody ends."""
    with sqlite3.connect(folder / "outputs/mlflow.db") as database:
        database.execute("UPDATE runs SET status = 'RUNNING', end_time = NULL")
    database.close()


@IGNORED
def test_runs_of_killed_processes_end_with_the_next_start(here: Path) -> None:
    """A plain command ends them, and a grid; a run whose folder is held, or away, goes on."""
    command = [*QUICK, "rewriter=none"]
    for name in ("dead", "held", "away"):
        assert run_task([*command, f"hydra.run.dir=outputs/{name}"], here).returncode == 0
    assert run_here(["-m", *command, "top_k=3,4"], here).returncode == 0
    leave_running(here)
    shutil.rmtree(here / "outputs/away")
    with hold_in_another_thread(here / "outputs/held"):
        assert run_task([*command, "hydra.run.dir=outputs/dead"], here).returncode == 0
    runs = {}
    for run in read_runs(here):
        folder = Path(run["tags"]["convrag.folder"])
        runs.setdefault(folder.name if folder.parent.name == "outputs" else "grid", []).append(
            run["status"]
        )
    assert sorted(runs["dead"]) == ["FINISHED", "KILLED"]
    assert runs["held"] == runs["away"] == ["RUNNING"]
    assert set(runs["grid"]) == {"KILLED"}
    assert run_here(["-m", *command, "top_k=3,4"], here).returncode == 0
    runs = [run["status"] for run in read_runs(here)]
    assert runs.count("RUNNING") == 1, "of the folder that is away"


def delete_experiment(folder: Path, name: str = "convrag") -> str:
    """Create an experiment, delete it, and return its id."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/outputs/mlflow.db")
    found = client.get_experiment_by_name(name)
    experiment_id = found.experiment_id if found else client.create_experiment(name)
    client.delete_experiment(experiment_id)
    return str(experiment_id)


@IGNORED
@pytest.mark.parametrize("grid", [(), ("-m", "rewriter=none,last_n")])
@pytest.mark.parametrize("tracker", ["auto", "mlflow"])
def test_a_deleted_experiment_is_one_message_before_any_work(
    grid: tuple[str, ...], tracker: str, here: Path
) -> None:
    experiment_id = delete_experiment(here)
    done = run_here([*grid, *QUICK, f"tracker={tracker}"], here)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "the experiment 'convrag' was deleted in MLflow" in line
    assert (
        "MLFLOW_TRACKING_URI=sqlite:///outputs/mlflow.db mlflow experiments restore "
        f"--experiment-id {experiment_id}" in line
    )
    assert "tracker.experiment=NAME" in line
    written = {path.name for path in (here / "outputs").iterdir()}
    assert written <= {"mlflow.db", "store"}, "no folder of a run or a grid"


@IGNORED
def test_a_deleted_experiment_of_another_name_does_no_harm(here: Path) -> None:
    delete_experiment(here)
    done = run_here([*QUICK, "tracker.experiment=second"], here)
    assert done.returncode == 0, done.stderr
    assert "Logged to MLflow." in done.stdout.splitlines()[-1]


@IGNORED
def test_conversations_are_not_traced_into_a_deleted_experiment(here: Path) -> None:
    delete_experiment(here, "convrag conversations")
    tracker = MlflowTracker(uri=f"sqlite:///{here}/outputs/mlflow.db", traces=True)
    with pytest.raises(ConfigError, match="'convrag conversations' was deleted in MLflow"):
        tracker.convrag_conversations_started({}, "none")


@IGNORED
def test_an_experiment_that_is_deleted_during_a_run_keeps_the_results(here: Path) -> None:
    """The last line says how to restore it, and the same command logs the run then."""
    uri = f"sqlite:///{here}/outputs/mlflow.db"
    opened = connection.Connection(uri, "convrag")
    experiment = opened.open()
    experiment.client.delete_experiment(experiment.id)
    with pytest.raises(MlflowException) as refusal:
        experiment.create_run("late", {})
    reason = opened.explain(refusal.value)
    assert "the experiment 'convrag' was deleted in MLflow. Restore it (" in reason
    experiment.client.restore_experiment(experiment.id)
    assert "deleted in MLflow" not in opened.explain(refusal.value)


@IGNORED
@pytest.mark.parametrize("grid", [(), ("-m", "rewriter=none,last_n")])
def test_a_folder_of_artifacts_that_cannot_be_written_is_one_message(
    grid: tuple[str, ...], here: Path
) -> None:
    from mlflow import MlflowClient

    (here / "taken").write_text("a file")
    location = (here / "taken" / "artifacts").as_uri()
    MlflowClient(f"sqlite:///{here}/outputs/mlflow.db").create_experiment("convrag", location)
    done = run_here([*grid, *QUICK], here)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{here / 'taken'} is not a folder that can be written" in line


@pytest.mark.parametrize(
    "artifacts", ["mlflow-artifacts:/1", "s3://bucket/1", "", "file:///tmp/new/folder"]
)
def test_folders_of_servers_and_new_ones_are_no_obstacle(artifacts: str) -> None:
    assert describe_unwritable("http://mlflow.example.org", "convrag", artifacts) == ""
