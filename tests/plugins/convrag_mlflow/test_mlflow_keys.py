"""Names that MLflow would refuse: of parameters, metrics and tags, in runs and grids."""

from pathlib import Path
from typing import Any

import pytest

from convrag_mlflow.keys import MAX_LENGTH, make_keys
from convrag_mlflow.run_data import describe_dataset
from mlflow_database import copy_database, read_runs
from tasks import run_here

pytest.importorskip("mlflow")

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own

LONG = f"llm.extra.{'d' * 242}"
"""A key above MLflow's 250 characters; a file's name, as Hydra tries it, has at most 255."""

QUICK = ("generator=none", "limit=1")


@pytest.fixture
def here(tmp_path: Path, database: Path) -> Path:
    copy_database(database, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("rewriter.n", "rewriter.n"),
        ("+sweep", "sweep"),
        ("++rewriter.n", "rewriter.n"),
        ("~llm", "llm"),
        ("clusterer@rewriter.clusterer", "clusterer_at_rewriter.clusterer"),
        ("nDCG@5", "nDCG_at_5"),
        ("llm.extra.a(b)", "llm.extra.a_b_"),
        ("metrics.Größe", "metrics.Größe"),
        ("name\n", "name_"),
        ("../a//b/./c/", "a/b/c"),
        ("/..", "_"),
        ("", "_"),
    ],
)
def test_a_name_becomes_one_that_mlflow_takes(name: str, key: str) -> None:
    assert make_keys([name]) == {name: key}


def test_long_names_and_names_that_become_alike_stay_apart() -> None:
    long = "a" * 300
    keys = make_keys([f"{long}1", f"{long}2", "b!", "b?", "b_", "+c", "c"])
    assert len(set(keys.values())) == 7
    assert max(map(len, keys.values())) == MAX_LENGTH
    assert keys["b_"] == "b_", "a name that MLflow takes as it is keeps it"
    assert keys["c"] == "c"
    assert keys == make_keys(reversed(keys))


def test_mlflow_takes_every_one_of_these_keys() -> None:
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    signs = [chr(code) for code in [*range(1, 0x250), 0x2028, 0x1F600]]
    names = [f"{sign}a{sign}{sign}b{sign}" for sign in signs]
    for key in make_keys([*names, *signs, "a/../b", "x/" * 200]).values():
        _validate_param_name(key)
        _validate_metric_name(key)


def find_grid(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    runs = read_runs(folder)
    (parent,) = [run for run in runs if run["tags"]["convrag.kind"] == "sweep"]
    return parent, [run for run in runs if run["tags"]["convrag.kind"] == "run"]


@pytest.mark.parametrize(
    "grid",
    [
        ["+system=ragboost,dhrag", "rewriter=replay"],
        ["+llm.extra.$odd=1,2", "llm=gpt", "retriever=run"],
        [f"+{LONG}=1,2", f"+{LONG}e=3", "llm=gpt", "retriever=run"],
        ["rewriter=mmr", "rewriter.clusterer=lsa,kmeans", "retriever=run"],
    ],
)
def test_a_grid_is_logged_whose_cells_fail_before_their_runs(grid: list[str], here: Path) -> None:
    done = run_here(["-m", *QUICK, *grid], here)
    assert done.returncode == 1, done.stderr
    assert "Not logged" not in done.stderr
    parent, children = find_grid(here)
    assert parent["status"] == "FAILED"
    assert "leaderboard.md" in parent["files"]
    assert len(children) == 2
    for child in children:
        assert child["status"] == "FAILED"
        assert child["tags"]["mlflow.parentRunId"] == parent["id"]
        assert child["tags"]["convrag.error"]


def test_values_and_tags_are_logged_under_such_keys(here: Path) -> None:
    from convrag_mlflow.experiment import Experiment

    long = f"llm.extra.{'d' * 300}"
    experiment = Experiment(f"sqlite:///{here}/outputs/mlflow.db", "convrag")
    run_id = experiment.create_run("odd", {"fingerprint.a(b)": "f", "convrag.kind": "run"})
    experiment.log_values(
        run_id,
        parameters={"llm.extra.$a": "1", f"{long}1": "2", f"{long}2": "3", "+sweep": "design"},
        metrics=[
            ("../sales//nDCG@5", 0.5, 0),
            ("by_turn/nDCG@5", 0.25, 1),
            ("by_turn/nDCG@5", 1, 2),
        ],
    )
    (run,) = read_runs(here)
    assert run["tags"]["fingerprint.a_b_"] == "f"
    assert run["params"]["llm.extra._a"] == "1"
    assert run["params"]["sweep"] == "design"
    assert {run["params"][key] for key in run["params"] if key.startswith("llm.extra.d")} == {
        "2",
        "3",
    }
    assert run["metrics"]["sales/nDCG_at_5"] == 0.5
    assert run["steps"] == [(1, 0.25), (2, 1.0)]


def test_long_names_of_runs_and_data_sets_are_cut(here: Path) -> None:
    """PostgreSQL refuses a longer name of a run, and MLflow a longer name of a data set."""
    from convrag_mlflow.experiment import Experiment

    experiment = Experiment(f"sqlite:///{here}/outputs/mlflow.db", "convrag")
    run_id = experiment.create_run("n" * 400, {"convrag.kind": "run"})
    paths = [f"/data/{number}/{'x' * 200}" for number in range(1000)]
    settings = {"_option_": "documents", "domain": "d" * 600, "path": paths}
    dataset = describe_dataset({"dataset": settings}, "f00d" * 4, {"turns": 1})
    experiment.log_datasets(run_id, [dataset])
    (run,) = read_runs(here)
    assert len(run["tags"]["mlflow.runName"]) == 250
    ((name, *_),) = run["datasets"]
    assert len(name) == 500


def test_a_cell_that_mlflow_refuses_keeps_neither_the_parent_nor_the_others_open(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever MLflow refuses in a later version: the command says so, and promises nothing."""
    from mlflow.exceptions import MlflowException

    from convrag_mlflow.experiment import Experiment

    log_values = Experiment.log_values

    def refuse(self: Experiment, run_id: str, **values: Any) -> None:
        if values.get("parameters", {}).get("top_k") == "3":
            raise MlflowException.invalid_parameter_value("top_k is no key")
        log_values(self, run_id, **values)

    monkeypatch.setattr(Experiment, "log_values", refuse)
    done = run_here(["-m", *QUICK, "rewriter=replay", "top_k=3,4"], here)
    parent, children = find_grid(here)
    assert parent["status"] == "FAILED"
    assert "leaderboard.md" in parent["files"]
    assert [child["status"] for child in children] == ["FAILED", "FAILED"]
    last = [line for line in done.stderr.splitlines() if "Not logged to MLflow, or not all" in line]
    assert len(last) == 1
    assert "top_k is no key" in last[0]
    assert "The same command again logs it" not in last[0]
