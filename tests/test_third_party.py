"""Plugins of others: the documented example, broken ones, and ones that want a name which is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from third_party import Environment

EXAMPLE = Path(__file__).parents[1] / "docs/examples/acme"

REGISTER = """
from convrag import hookimpl, Rewrite, Rewriter

class Mine(Rewriter):
    "Says so."
    def rewrite(self, question):
        return Rewrite.of("mine " + question.text)

@hookimpl
def convrag_register(register):
    register("rewriter", "{name}", Mine)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def records(environment: Environment) -> list[dict[str, object]]:
    (path,) = environment.work.glob("outputs/2*/*/intermediate/*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_example_runs_with_its_yaml_and_its_clusterer(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    done = environment.convrag(
        "rewriter=acme_brief", "clusterer=acme_length", "clusterer.step=20", "rewriter.order=oldest", "limit=2"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert any(record["trace"]["rewriter"]["related"] for record in records(environment))  # type: ignore[index]


def test_the_example_is_listed_and_its_mistakes_are_explained(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    shown = environment.convrag("--help").stdout
    assert "acme_topic" in shown
    assert "acme_brief" in shown
    assert "convrag-acme 0.1.0" in environment.convrag("task=plugins", "task.stage=clusterer").stdout
    wrong = environment.convrag("rewriter=acme_topic", "rewriter.order=youngest")
    assert wrong.returncode == 2
    assert "rewriter.order: value 'youngest' does not exist. Choose from: newest, oldest" in " ".join(
        wrong.stderr.replace("Did you mean 'oldest'? ", "").replace("Did you mean 'newest'? ", "").split()
    )
    assert environment.convrag("rewriter=acme_topic", "rewriter.words=many").returncode == 2


def test_the_example_passes_its_own_contracts(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    done = environment.python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
        ("import a_library_that_is_not_there", "No module named 'a_library_that_is_not_there'"),
        ("import sys; sys.exit(5)", "SystemExit: 5"),
        ("this is no python", "SyntaxError"),
    ],
)
def test_a_broken_plugin_costs_a_warning_and_nothing_else(environment: Environment, body: str, cause: str) -> None:
    environment.install("broken", {"broken.py": body})
    environment.install("other", {"other.py": REGISTER.format(name="other")})
    done = environment.convrag("rewriter=other", "limit=1")
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert cause in done.stderr
    assert "broken-dist" in done.stderr
    asked = environment.convrag("rewriter=brokn")
    assert asked.returncode == 2
    assert "rewriter 'brokn' does not exist" in asked.stderr
    assert asked.stderr.count(cause) == 2, "once as the warning, once in the answer"
    assert "Traceback" not in asked.stderr


def test_a_taken_name_is_never_replaced_silently(environment: Environment) -> None:
    environment.install("thief", {"thief.py": REGISTER.format(name="none")})
    other = environment.convrag("rewriter=last_n", "limit=1")
    assert other.returncode == 0
    assert "rewriter=none is claimed by two distributions, convrag and thief-dist" in other.stderr
    chosen = environment.convrag("rewriter=none", "limit=1")
    assert chosen.returncode == 2
    assert "CONVRAG_DISABLE_PLUGINS=thief-dist" in chosen.stderr


def test_a_yaml_file_does_not_replace_an_option_either(environment: Environment) -> None:
    hook = "from convrag import hookimpl\n@hookimpl\ndef convrag_config_packages():\n    return ['sly.conf']\n"
    environment.install(
        "sly",
        {
            "sly/__init__.py": hook,
            "sly/conf/__init__.py": "",
            "sly/conf/rewriter/none.yaml": "defaults:\n  - last_n\n  - _self_\n",
        },
    )
    assert environment.convrag("rewriter=last_n", "limit=1").returncode == 0
    chosen = environment.convrag("rewriter=none", "limit=1")
    assert chosen.returncode == 2
    assert "rewriter=none is claimed by two distributions, convrag and sly-dist" in chosen.stderr


def test_an_observer_is_called_and_may_fail(environment: Environment) -> None:
    body = """
from pathlib import Path
from convrag import hookimpl

@hookimpl
def convrag_turn_finished(record):
    with Path("seen.txt").open("a") as file:
        file.write(record.turn_id + "\\n")

@hookimpl
def convrag_run_finished(run, summary):
    raise ValueError("the observer fell over")
"""
    environment.install("watcher", {"watcher.py": body})
    done = environment.convrag("limit=1")
    assert done.returncode == 0, done.stderr
    turns = (environment.work / "seen.txt").read_text().splitlines()
    assert turns == [record["turn_id"] for record in records(environment)]
    assert "the observer fell over" in done.stderr


def test_a_stage_that_raises_costs_its_turns(environment: Environment) -> None:
    body = """
from convrag import hookimpl, Generator, Answer

class Moody(Generator):
    "Fails for every second turn."
    def generate(self, question, evidence):
        if question.number % 2 == 0:
            raise KeyError("mood")
        return Answer("fine")

@hookimpl
def convrag_register(register):
    register("generator", "moody", Moody)
"""
    environment.install("moody", {"moody.py": body})
    done = environment.convrag("generator=moody", "limit=2")
    assert done.returncode == 0, done.stderr
    failed = [record for record in records(environment) if record["error"]]
    assert 0 < len(failed) < len(records(environment))
    assert f"{len(failed)} turns failed" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, "the same reason is shown once"
