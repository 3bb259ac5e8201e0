"""What CI, a release, containers and editors are told: the files agree with pyproject.toml and with each other."""

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from convrag.config.compose import compose
from places import ROOT

WORKFLOWS = ROOT / ".github/workflows"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]


def read_yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def read_workflow(name: str) -> dict[str, Any]:
    """Read a workflow; YAML takes its key `on` for true."""
    workflow: dict[Any, Any] = read_yaml(f".github/workflows/{name}.yml")
    return {"on" if key is True else key: value for key, value in workflow.items()}


def list_commands(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


def load_script(name: str) -> ModuleType:
    """Import a script of .ci/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f".ci/{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def test_the_pythons_are_the_same_everywhere() -> None:
    admitted = SpecifierSet(PROJECT["project"]["requires-python"])
    assert [version for version in (*PYTHONS, "3.10") if admitted.contains(version)] == PYTHONS
    listed = [
        line.rpartition(":: ")[2]
        for line in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    ]
    assert listed == PYTHONS
    assert read_workflow("ci")["jobs"]["installs"]["strategy"]["matrix"]["python"] == PYTHONS
    assert read_workflow("release")["jobs"]["try"]["strategy"]["matrix"]["python"] == PYTHONS
    assert f"set -- {' '.join(PYTHONS)}" in (ROOT / ".ci/extras").read_text(encoding="utf-8")


NOT_IMPORTED = {"all", "docs", "llama-cpp", "notebooks", "small-model", "test"}
"""Extras of extras, and those that pip builds for ten minutes."""


def test_each_extra_is_imported_on_3_14() -> None:
    job = read_workflow("ci")["jobs"]["extras"]
    assert sorted(job["strategy"]["matrix"]["extra"]) == sorted(EXTRAS.keys() - NOT_IMPORTED)
    assert "python .ci/import_extra.py ${{ matrix.extra }}" in list_commands(job)


def test_the_libraries_of_an_extra_are_imported(capsys: pytest.CaptureFixture[str]) -> None:
    script = load_script("import_extra")
    assert script.main("documents") == 0
    assert capsys.readouterr().out == "[documents] 1 libraries looked at\n"
    assert {"fastapi", "uvicorn"} <= {*script.list_distributions("serve")}
    assert "fastapi" in script.list_distributions("all")
    assert script.find_modules("scikit-learn") == ["sklearn"]
    assert script.main("nothing") == 1


def test_an_extra_that_is_not_installed_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load_script("import_extra")
    monkeypatch.setattr(script, "list_distributions", lambda extra: ["a-library-that-is-not-there"])
    assert script.main("acme") == 1
    assert "[acme] a_library_that_is_not_there of a-library" in capsys.readouterr().err


def test_a_release_is_tried_before_anything_is_published() -> None:
    workflow = read_workflow("release")
    assert workflow["on"]["push"] == {"tags": ["v[0-9]*"]}
    jobs = workflow["jobs"]
    assert "twine check --strict dist/*" in list_commands(jobs["build"])
    assert "fresh/bin/python -m convrag\n" in list_commands(jobs["try"])
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {
        "build": None,
        "try": "build",
        "index": "try",
        "images": "try",
        "site": "try",
        "publish-site": "site",
        "mcp-registry": "index",
    }
    publishing = [name for name, job in jobs.items() if job.get("if")]
    assert publishing == ["index", "publish-site", "mcp-registry"]
    assert {jobs[name]["if"] for name in publishing} == {"github.event_name == 'push'"}
    images = jobs["images"]
    assert images["strategy"]["matrix"]["target"] == ["light", "full"]
    pushing = images["steps"][-1]["with"]
    assert (pushing["push"], pushing["sbom"]) == ("${{ env.PUBLISH == 'true' }}", True)
    assert pushing["provenance"] == "mode=max"


def test_no_workflow_has_a_secret_or_more_rights_than_it_needs() -> None:
    for file in sorted(WORKFLOWS.glob("*.yml")):
        assert "secrets." not in file.read_text(encoding="utf-8")
        workflow = read_workflow(file.stem)
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert job["timeout-minutes"] <= 60, f"{file.name}: {name}"
            for step in job["steps"]:
                if str(step.get("uses")).startswith("actions/checkout"):
                    assert step["with"] == {"persist-credentials": False}


def test_jobs_with_the_newest_libraries_may_fail() -> None:
    jobs = read_workflow("nightly")["jobs"]
    assert all(job["continue-on-error"] for job in jobs.values())
    newest = list_commands(jobs["newest"])
    assert "constraints.txt" not in newest
    assert newest.endswith("pytest")
    assert '"hydra-core>=1.4.0rc3,<1.5" "omegaconf>=2.4.0rc1,<2.5"' in list_commands(jobs["hydra"])


def test_versions_that_differ_are_named(tmp_path: Path) -> None:
    script = load_script("check_release")
    version = PROJECT["project"]["version"]
    assert script.find_problems(f"v{version}") == []
    assert script.find_problems("v9.9.9") == [
        f"the tag is v9.9.9, and pyproject.toml says {version}"
    ]
    for name in ("pyproject.toml", "server.json", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text("version: 0.0.1\n", encoding="utf-8")
    assert script.find_problems("", tmp_path) == [
        f"CITATION.cff says 0.0.1, and pyproject.toml {version}"
    ]


def test_the_mcp_registry_is_told_how_to_start_it() -> None:
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    (package,) = server["packages"]
    assert (package["identifier"], package["runtimeHint"]) == ("convrag", "uvx")
    assert package["runtimeArguments"][0]["value"] == "convrag[mcp]"
    assert len(server["description"]) <= 100
    overrides = [argument["value"] for argument in package["packageArguments"]]
    config = compose(*(value.replace("{folder}", str(ROOT / "docs")) for value in overrides))
    assert config.task._option_ == "mcp"
    assert f"mcp-name: {server['name']}" in (ROOT / "setup.py").read_text(encoding="utf-8")


def test_the_addresses_are_the_same_everywhere() -> None:
    urls = PROJECT["project"]["urls"]
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    source = urls["Source"]
    assert json.loads((ROOT / "server.json").read_text())["repository"]["url"] == source
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"\nrepo_url: {source}\n" in site
    assert f"\nsite_url: {urls['Documentation']}\n" in site
    assert f"pip install git+{source} && " in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'"pip install git+{source}"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert f"{source}/security/advisories/new" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_uv_takes_torch_for_the_cpu() -> None:
    (index,) = PROJECT["tool"]["uv"]["index"]
    assert index["explicit"] is True
    for name, source in PROJECT["tool"]["uv"]["sources"].items():
        assert source["index"] == index["name"]
        named = [line for extra in EXTRAS.values() for line in extra if line.startswith(name + ">")]
        assert named, f"uv heeds a source only for what an extra names: {name}"


def test_compose_starts_a_page_over_a_folder() -> None:
    services = read_yaml("compose.yaml")["services"]
    without_profile = [name for name, service in services.items() if "profiles" not in service]
    assert without_profile == ["convrag", "ollama", "model"]
    profiles = [service["profiles"] for service in services.values() if "profiles" in service]
    assert profiles == [["postgres"], ["elasticsearch"], ["opensearch"]]
    command = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", services["convrag"]["command"])
    overrides = shlex.split(command.replace("/documents", str(ROOT / "docs")))
    config = compose(*overrides)
    assert (config.task.host, config.llm.api_base) == ("0.0.0.0", "http://ollama:11434")
    full = (ROOT / "Dockerfile").read_text(encoding="utf-8").split("AS full")[1]
    (installed,) = re.findall(r"\$\{wheel\}\[(.+)\]", full)
    assert {*installed.split(",")} <= EXTRAS.keys()
    assert {"elasticsearch", "litellm", "opensearch", "postgres", "serve"} <= {
        *installed.split(",")
    }


def test_pre_commit_runs_what_ci_runs() -> None:
    (repository,) = read_yaml(".pre-commit-config.yaml")["repos"]
    checked = (ROOT / ".ci/run").read_text(encoding="utf-8")
    entries = {hook["id"]: hook["entry"] for hook in repository["hooks"]}
    for name in ("ruff-check", "ruff-format", "mypy", "lint-imports"):
        assert f"\n{entries[name]}" in checked
    assert entries["site"].startswith("python -m mkdocs build --strict")


def test_a_container_for_editors_installs_everything() -> None:
    described = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert "-e '.[all,test]'" in described["postCreateCommand"]
    assert 8642 in described["forwardPorts"]


def test_each_form_for_issues_has_what_a_report_needs() -> None:
    for file in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")):
        form = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.name == "config.yml":
            assert form["contact_links"][0]["url"].endswith("/security/advisories/new")
            continue
        assert {"name", "description", "body"} <= form.keys()
        assert all(each["attributes"]["label"] for each in form["body"])


def test_a_job_starts_only_programs_that_the_repository_has() -> None:
    for file in sorted(WORKFLOWS.glob("*.yml")):
        for path in re.findall(r"\.ci/[\w.]+", file.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), f"{file.name}: {path}"
