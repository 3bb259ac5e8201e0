"""What task=new_plugin writes works without an edit: every stage's, installed together, and one installed by pip."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError
from convrag.testing import TaskContract
from convrag_kit.new_plugin import NewPluginTask
from convrag_kit.plugin_names import make_class_name
from convrag_kit.stage_templates import STAGE_TEMPLATES
from third_party import Environment, needs_pip


class TestContract(TaskContract):
    overrides = ()

    def make(self) -> NewPluginTask:
        return NewPluginTask(package="acme_rewriter", stage="rewriter")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """One with a new plugin for each stage."""
    folder = tmp_path_factory.mktemp("all")
    for stage in STAGE_TEMPLATES:
        assert NewPluginTask(package=f"acme_{stage}", stage=stage, path=folder / stage).execute(_NO_CONFIG, folder) == 0
    made = Environment(folder)
    for stage in STAGE_TEMPLATES:
        made.install_project(folder / stage)
    return made


_NO_CONFIG: Any = None


def test_each_is_listed_with_its_variant(environment: Environment) -> None:
    done = environment.convrag("task=plugins", "task.json=true")
    assert done.returncode == 0, done.stderr
    listed = {(entry["group"], entry["name"]): entry for entry in json.loads(done.stdout)["options"]}
    for stage, template in STAGE_TEMPLATES.items():
        option, variant = listed[stage, f"acme_{stage}"], listed[stage, f"acme_{stage}_{template.suffix}"]
        assert (option["distribution"], option["version"]) == (f"acme-{stage}", "0.1.0")
        assert (option["state"], variant["state"], variant["extends"]) == ("ready", "ready", option["name"])
        assert template.changed in {parameter["name"] for parameter in option["parameters"]} & set(variant["values"])


def test_each_passes_its_own_tests(environment: Environment) -> None:
    folders = [str(environment.site.parent / stage) for stage in STAGE_TEMPLATES]
    done = environment.python("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *folders)
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout
    assert "failed" not in done.stdout


def test_all_of_them_run_together_in_a_grid(environment: Environment) -> None:
    stages = ["dataset", "llm", "embedder", "retriever", "context", "detector", "clusterer", "ranker", "summarizer"]
    chosen = [f"{stage}=acme_{stage}" for stage in stages]
    both = "rewriter=acme_rewriter,acme_rewriter_last"
    more = ["reranker=acme_ranker", "generator=acme_generator,ginger", "metrics=[ranking,acme_metrics]"]
    done = environment.run_command("-m", both, *chosen, *more, "tracker=acme_tracker")
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in (environment.work / "outputs/runs.jsonl").read_text().splitlines()]
    assert len(runs) == 4
    assert all(run["scores"]["nDCG@5"] > 0 and run["scores"]["acme_metrics_words"] > 0 for run in runs)
    files = environment.work.rglob("intermediate/*.jsonl")
    records = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 4 * 3
    assert not any(record["error"] or record["fallbacks"] for record in records)


def test_all_variants_run(environment: Environment) -> None:
    own = {"task", "metrics", "tracker"}
    chosen = [
        f"{stage}=acme_{stage}_{template.suffix}" for stage, template in STAGE_TEMPLATES.items() if stage not in own
    ]
    own_metrics = "metrics=[ranking,acme_metrics_words]"
    done = environment.run_command(*chosen, own_metrics, "tracker=acme_tracker_all")
    assert done.returncode == 0, done.stderr
    unused = {"chunker", "llm", "embedder", "detector", "clusterer", "ranker", "summarizer"}  # of no stage here
    assert {line.split("=")[0] for line in done.stderr.splitlines()} == {f"convrag: {stage}" for stage in unused}
    assert all(" is not used: " in line for line in done.stderr.splitlines())
    assert "acme_metrics_words" in (environment.work / "outputs/all_runs.jsonl").read_text()
    shown = environment.convrag("task=acme_task_long")
    assert shown.stdout.startswith("8 conversations, 49 turns\n"), shown.stderr


@pytest.mark.parametrize("tool", [("check",), ("format", "--check", "--diff")])
def test_they_are_as_tidy_as_we_are(environment: Environment, tool: tuple[str, ...]) -> None:
    pytest.importorskip("ruff")
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--isolated", "--line-length", "120", "--no-cache"]
    select = ["--select", "E,F,W,I,B,C4,UP,SIM,RUF,PIE,ANN"] if tool == ("check",) else []
    for stage in STAGE_TEMPLATES:
        command = [*ruff, *tool, *options, *select, "."]
        folder = environment.site.parent / stage
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@needs_pip
def test_one_is_installed_by_pip(tmp_path: Path) -> None:
    NewPluginTask(package="acme_topics", stage="clusterer", option="topics-of-acme", path=tmp_path / "new").execute(
        _NO_CONFIG, tmp_path
    )
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    seen = [path for path in (*site.getsitepackages(), *sys.path) if "site-packages" in path]
    (packages / "seen.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in seen))
    install = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", str(tmp_path / "new")]
    _run([python, *install], tmp_path)
    listed = _run([python, "-m", "convrag", "task=plugins", "task.stage=clusterer"], tmp_path)
    head = "topics-of-acme  acme-topics 0.1.0 (acme_topics.clusterer:TopicsOfAcmeClusterer) ready"
    assert head in " ".join(listed.split()).replace("acme acme-", "acme  acme-")
    grid = ["-m", "clusterer=topics-of-acme,topics-of-acme_strict,lsa", "limit=1", "tracker=none"]
    _run([python, "-m", "convrag", *grid], tmp_path)


def _run(command: list[Any], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"package": "Acme-Rewriter"}, "cannot be imported.*: acme_rewriter$"),
        ({"package": "class"}, "cannot be imported"),
        ({"package": "2acme"}, "cannot be imported"),
        ({"package": "_acme"}, "cannot be imported.*: acme$"),
        ({"package": "acmé"}, "cannot be imported"),
        ({"package": "json"}, "task.package=json is taken"),
        ({"package": "convrag_mmr"}, "task.package=convrag_mmr is taken"),
        ({"package": "convrag"}, "task.package=convrag is taken"),
        ({"package": "acme", "stage": "reranker"}, "write task.stage=ranker"),
        ({"package": "acme", "stage": "rewriters"}, "Did you mean 'rewriter'"),
        ({"package": "acme", "option": "mmr"}, "rewriter=mmr is taken by convrag"),
        ({"package": "acme", "option": "mmr_k10"}, "rewriter=mmr_k10 is taken"),
        ({"package": "acme", "option": "a b"}, "will not do: a name begins with a letter"),
        ({"package": "acme", "option": "bge_reranker", "stage": "ranker"}, "is taken"),
        ({"package": "acme", "path": Path("there")}, "there is there already"),
        ({"package": "acme", "path": Path("new/acme")}, "Choose another one, such as convrag-acme"),
        ({"package": "acme", "path": Path("file/below")}, "cannot be written"),
    ],
)
def test_what_will_not_do(arguments: dict[str, Any], message: str, here: Path) -> None:
    (here / "there").mkdir()
    (here / "new").mkdir()
    (here / "file").touch()
    before = sorted(here.rglob("*"))
    with pytest.raises(ConfigError, match=message):
        NewPluginTask(**{"stage": "rewriter", **arguments}).execute(_NO_CONFIG, here)
    assert sorted(here.rglob("*")) == before


def test_it_says_what_to_do_next(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NewPluginTask(package="acme_look", stage="embedder").execute(_NO_CONFIG, here)
    said = capsys.readouterr().out
    assert "pip install -e acme-look" in said
    assert "python -m convrag embedder=acme_look retriever=dense limit=2" in said
    described = tomllib.loads((here / "acme-look/pyproject.toml").read_text(encoding="utf-8"))
    assert described["project"]["entry-points"]["convrag"] == {"acme_look": "acme_look"}


@pytest.mark.parametrize(
    ("option", "stage", "cls"),
    [
        ("acme_rewriter", "rewriter", "AcmeRewriter"),
        ("acme", "llm", "AcmeLLM"),
        ("acme-llm", "llm", "AcmeLLM"),
        ("dhrag2", "rewriter", "Dhrag2Rewriter"),
    ],
)
def test_the_class_is_named_after_the_option(option: str, stage: str, cls: str) -> None:
    assert make_class_name(option, stage) == cls
