"""Names, data sets and the command for MLflow's page."""

import json
import os
from importlib import reload
from pathlib import Path

import pytest

import convrag_mlflow
from convrag_mlflow.addresses import describe_viewing
from convrag_mlflow.run_data import describe_dataset, name_run

CONFIG = {
    "dataset": {"_option_": "mtrag", "domain": "clapnq", "path": "/data/mtrag"},
    "rewriter": {"_option_": "none"},
    "generator": {"_option_": "ginger"},
}


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        (["rewriter=last_n", "rewriter.n=3"], "mtrag clapnq: rewriter=last_n rewriter.n=3"),
        (["task=run", "workers=2", "dataset=mtrag", "dataset.path=/data", "+tracker.x=1"], ""),
        ([], ""),
        ([f"rewriter.prompt={'x' * 200}"], f"mtrag clapnq: rewriter.prompt={'x' * 87}..."),
    ],
)
def test_a_single_run_is_named_by_its_data_and_what_was_asked_for(
    overrides: list[str], name: str, tmp_path: Path
) -> None:
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra/overrides.yaml").write_text(json.dumps(overrides))
    assert name_run(tmp_path, CONFIG) == (name or "mtrag clapnq: rewriter=none generator=ginger")


def test_neither_mlflow_nor_litellm_calls_home(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
    }
    for name in wanted:
        monkeypatch.delenv(name, raising=False)
    reload(convrag_mlflow)
    assert {name: os.environ[name] for name in wanted} == wanted


def test_a_run_that_nothing_describes_has_the_name_of_its_folder(tmp_path: Path) -> None:
    assert name_run(tmp_path, {}) == tmp_path.name
    assert describe_dataset({}, "f00d", {}) == {}


def test_a_data_set_is_described_by_its_option_and_its_fingerprint() -> None:
    found = describe_dataset(CONFIG, "0123456789abcdef" * 3, {"turns": 7})
    assert (found["name"], found["digest"], found["profile"]) == (
        "mtrag clapnq",
        "0123456789ab",
        '{"turns": 7}',
    )
    assert json.loads(found["source"])["uri"] == "/data/mtrag"


def test_the_page_of_the_runs_is_named() -> None:
    """MLflow's page opens on traces of models unless the address, or the browser's last choice,
    says otherwise.
    """
    told = describe_viewing("sqlite:///outputs/mlflow.db", "convrag", "7")
    page = "http://127.0.0.1:5000/#/experiments/7/runs?workflowType=machine_learning"
    assert told.endswith(f"--backend-store-uri sqlite:///outputs/mlflow.db, then open {page}")


@pytest.mark.parametrize("installed", [True, False])
def test_the_command_for_the_page_keeps_litellm_from_waiting_for_a_price_list(
    installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("convrag_mlflow.addresses.is_installed", lambda name: installed)
    told = describe_viewing("sqlite:///outputs/mlflow.db", "convrag")
    command = "mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db"
    assert told.endswith(
        f"LITELLM_LOCAL_MODEL_COST_MAP=True {command}" if installed else f" {command}"
    )
