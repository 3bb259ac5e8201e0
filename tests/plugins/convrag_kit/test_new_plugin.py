"""What task=new_plugin writes works without an edit: every stage's, installed together, and one
installed by pip.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from convrag import __version__
from convrag.api.errors import ConfigError
from convrag.testing import TaskContract
from convrag_kit.new_plugin import (
    ASKING_TEMPLATES,
    STAGE_TEMPLATES,
    NewPluginTask,
    choose_template,
    format_compatible_versions,
    make_class_name,
    render_files,
)
from places import ROOT
from third_party import Environment


class TestContract(TaskContract):
    overrides = ()

    def make(self) -> NewPluginTask:
        return NewPluginTask(package="acme_rewriter", stage="rewriter")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """One with a new plugin for each stage, and one that asks an LLM for each where there is one."""
    folder = tmp_path_factory.mktemp("all")
    made = Environment(folder)
    for stage in STAGE_TEMPLATES:
        assert (
            NewPluginTask(package=f"acme_{stage}", stage=stage, path=folder / stage).execute(
                _NO_CONFIG, folder
            )
            == 0
        )
        made.install_project(folder / stage)
    for stage in ASKING_TEMPLATES:
        task = NewPluginTask(
            package=f"asking_{stage}", stage=stage, llm=True, path=folder / f"with_llm_{stage}"
        )
        assert task.execute(_NO_CONFIG, folder) == 0
        made.install_project(folder / f"with_llm_{stage}")
    return made


def list_projects(environment: Environment) -> list[Path]:
    return [
        *(environment.site.parent / stage for stage in STAGE_TEMPLATES),
        *list_asking_projects(environment),
    ]


def list_asking_projects(environment: Environment) -> list[Path]:
    return [environment.site.parent / f"with_llm_{stage}" for stage in ASKING_TEMPLATES]


_NO_CONFIG: Any = None


@pytest.mark.slow
def test_each_is_listed_with_its_variant(environment: Environment) -> None:
    done = environment.convrag("task=plugins", "task.json=true")
    assert done.returncode == 0, done.stderr
    listed = {
        (entry["group"], entry["name"]): entry for entry in json.loads(done.stdout)["options"]
    }
    written = [("acme", *each) for each in STAGE_TEMPLATES.items()]
    written += [("asking", *each) for each in ASKING_TEMPLATES.items()]
    for prefix, stage, template in written:
        option, variant = (
            listed[stage, f"{prefix}_{stage}"],
            listed[stage, f"{prefix}_{stage}_{template.suffix}"],
        )
        assert (option["distribution"], option["version"]) == (f"{prefix}-{stage}", "0.1.0")
        assert (option["state"], variant["state"], variant["extends"]) == (
            "ready",
            "ready",
            option["name"],
        )
        assert template.changed in {parameter["name"] for parameter in option["parameters"]} & set(
            variant["values"]
        )


@pytest.mark.slow
def test_each_passes_its_own_tests(environment: Environment) -> None:
    folders = map(str, list_projects(environment))
    once = ["-k", "not (with_llm and new_process)"]  # one process for each is enough
    done = environment.python(
        "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *once, *folders
    )
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_all_of_them_run_together_in_a_grid(environment: Environment) -> None:
    stages = "dataset llm memory embedder retriever selector context detector clusterer ranker summarizer"
    chosen = [f"{stage}=acme_{stage}" for stage in stages.split()]
    both = "rewriter=acme_rewriter,acme_rewriter_last"
    more = [
        "reranker=acme_ranker",
        "generator=acme_generator,ginger",
        "metrics=[ranking,acme_metrics]",
    ]
    done = environment.run_command("-m", both, *chosen, *more, "tracker=acme_tracker")
    assert done.returncode == 0, done.stderr
    runs = [
        json.loads(line)
        for line in (environment.work / "outputs/runs.jsonl").read_text().splitlines()
    ]
    assert len(runs) == 4
    assert all(
        run["scores"]["nDCG@5"] > 0 and run["scores"]["acme_metrics_words"] > 0 for run in runs
    )
    files = environment.work.rglob("intermediate/*.jsonl")
    records = [
        json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(records) == 4 * 3
    assert not any(record["error"] or record["fallbacks"] for record in records)


@pytest.mark.slow
@pytest.mark.parametrize("tool", [("check",), ("format", "--check", "--diff")])
def test_they_are_as_tidy_as_we_are(environment: Environment, tool: tuple[str, ...]) -> None:
    pytest.importorskip("ruff")
    ruff = [sys.executable, "-m", "ruff"]
    options = ["--isolated", "--line-length", "120", "--no-cache"]
    select = ["--select", "E,F,W,I,B,C4,UP,SIM,RUF,PIE,ANN"] if tool == ("check",) else []
    for folder in list_projects(environment):
        command = [*ruff, *tool, *options, *select, "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_asks_an_llm_runs_without_one(environment: Environment) -> None:
    """Where llm=extractive has a rule for the task, nothing falls back; where not, record and
    terminal say so.
    """
    chosen = [
        f"{stage}=asking_{stage}" for stage, template in ASKING_TEMPLATES.items() if template.known
    ]
    done = environment.convrag(
        "limit=1", *chosen, "generator=asking_generator", "hydra.run.dir=known"
    )
    assert (done.returncode, done.stderr.count("has no rule")) == (0, 0), done.stderr
    assert not any(record["fallbacks"] for record in read_records(environment.work / "known"))
    unknown = {
        stage: template.task for stage, template in ASKING_TEMPLATES.items() if not template.known
    }
    chosen = [f"{'reranker' if stage == 'ranker' else stage}=asking_{stage}" for stage in unknown]
    done = environment.convrag("limit=1", *chosen, "generator=none", "hydra.run.dir=unknown")
    assert done.returncode == 3, done.stderr
    for task in unknown.values():
        assert done.stderr.count(f"has no rule for the task '{task}'") == 1
    fell_back = {
        stage
        for record in read_records(environment.work / "unknown")
        for stage in record["fallbacks"]
    }
    assert fell_back == {"memory", "selector", "reranker"}


def read_records(folder: Path) -> list[dict[str, Any]]:
    (path,) = (folder / "intermediate").glob("*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_their_types_are_right(environment: Environment) -> None:
    """As mypy --strict sees them beside an installed convrag."""
    pytest.importorskip("mypy")
    packages = [name for stage in STAGE_TEMPLATES for name in ("-p", f"acme_{stage}")]
    packages += [name for stage in ASKING_TEMPLATES for name in ("-p", f"asking_{stage}")]
    paths = [str(environment.site), str(ROOT), str(ROOT / "plugins")]
    variables = {**os.environ, "MYPYPATH": os.pathsep.join(paths)}
    # The same cache each time: convrag itself is read anew only where it has changed.
    options = [
        "--strict",
        "--explicit-package-bases",
        "--follow-imports=silent",
        "--no-color-output",
    ]
    command = [
        sys.executable,
        "-m",
        "mypy",
        *options,
        "--cache-dir",
        str(ROOT / ".mypy_cache/scaffolds"),
        *packages,
    ]
    done = subprocess.run(
        command, cwd=environment.work, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"package": "Acme-Rewriter"}, "cannot be imported"),
        ({"package": "class"}, "cannot be imported"),
        ({"package": "json"}, "task.package=json is taken"),
        ({"package": "convrag_mmr"}, "task.package=convrag_mmr is taken"),
        ({"package": "convrag"}, "task.package=convrag is taken"),
        ({"package": "acme", "stage": "reranker"}, "write task.stage=ranker"),
        (
            {"package": "acme", "stage": "clusterer", "llm": True},
            "no clusterer that asks an LLM, but of detector, gen",
        ),
        ({"package": "acme", "stage": "rewriters"}, "Did you mean 'rewriter'"),
        ({"package": "acme", "option": "mmr"}, "rewriter=mmr is taken by convrag"),
        ({"package": "acme", "option": "mmr_k10"}, "rewriter=mmr_k10 is taken"),
        ({"package": "acme", "option": "a b"}, "will not do: a name begins with a letter"),
        (
            {"package": "acme", "path": Path("there")},
            "there exists: name a folder that is new or empty",
        ),
        ({"package": "acme", "path": Path("new/acme")}, "Choose another one, such as convrag-acme"),
        ({"package": "acme", "path": Path("file/below")}, "cannot be written"),
    ],
)
def test_what_will_not_do(arguments: dict[str, Any], message: str, here: Path) -> None:
    (here / "there/inside").mkdir(parents=True)
    (here / "new").mkdir()
    (here / "file").touch()
    before = sorted(here.rglob("*"))
    with pytest.raises(ConfigError, match=message):
        NewPluginTask(**{"stage": "rewriter", **arguments}).execute(_NO_CONFIG, here)
    assert sorted(here.rglob("*")) == before


def test_it_says_what_to_do_next(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NewPluginTask(package="acme_look", stage="embedder").execute(_NO_CONFIG, here)
    said = capsys.readouterr().out
    assert "python -m pip install -e 'acme-look[test]'" in said
    assert "python -m convrag embedder=acme_look retriever=dense limit=2" in said
    assert "python -m convrag task=plugins task.check=acme_look" in said
    assert "Replace OWNER" in said
    described = tomllib.loads((here / "acme-look/pyproject.toml").read_text(encoding="utf-8"))
    assert described["project"]["entry-points"]["convrag"] == {"acme_look": "acme_look"}
    (required,) = described["project"]["dependencies"]
    assert Requirement(required).specifier.contains(__version__)
    assert format_compatible_versions("0.12.3") == ">=0.12,<0.13"


EVERY_TEMPLATE = [(stage, False) for stage in STAGE_TEMPLATES]
EVERY_TEMPLATE += [(stage, True) for stage in ASKING_TEMPLATES]


@pytest.mark.parametrize(("stage", "llm"), EVERY_TEMPLATE)
def test_it_is_a_repository_that_is_ready(stage: str, llm: bool) -> None:
    template = choose_template(stage, llm=llm)
    url = "https://git.example.org/acme/it"
    files = render_files("acme_it", stage, "acme_it", template, url)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["urls"] == {"Homepage": url, "Issues": f"{url}/issues"}
    assert project["license"] == "MIT"
    assert files["LICENSE"].startswith("MIT License\n\nCopyright (c) 20")
    workflow = yaml.safe_load(files[".github/workflows/tests.yml"])
    job = workflow["jobs"]["tests"]
    assert job["strategy"]["matrix"]["python"][-1] == "3.14"
    assert {"run": "python -m convrag task=plugins task.check=acme_it"} in job["steps"]
    assert job["steps"][1]["with"] == {"python-version": "${{ matrix.python }}"}
    (repository,) = yaml.safe_load(files[".pre-commit-config.yaml"])["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == ["ruff check --fix", "ruff format"]
    rows = re.findall(r"^\| `(\w+)` \| `.+` \| .+ \| (.+) \|$", files["README.md"], re.MULTILINE)
    assert template.changed in dict(rows)
    assert f"| `{stage}=acme_it` | " in files["README.md"]
    assert f"pip install git+{url}\n" in files["README.md"]


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
