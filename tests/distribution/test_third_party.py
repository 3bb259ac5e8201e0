"""Plugins of others: the documented example, broken ones, and ones that want a name which is taken."""

import json
from pathlib import Path

import pytest

from commands import drop_progress
from places import ROOT
from third_party import Environment

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "docs/examples/acme"

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


def test_the_example_is_listed_and_its_mistakes_are_explained(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    shown = environment.run_command("--help").stdout
    assert "acme_topic" in shown
    assert "acme_brief" in shown
    assert (
        "convrag-acme 0.1.0" in environment.convrag("task=plugins", "task.stage=clusterer").stdout
    )
    wrong = environment.convrag("rewriter=acme_topic", "rewriter.order=youngest")
    assert wrong.returncode == 2
    assert (
        "rewriter.order: value 'youngest' does not exist. Choose from: newest, oldest"
        in " ".join(
            wrong.stderr.replace("Did you mean 'oldest'? ", "")
            .replace("Did you mean 'newest'? ", "")
            .split()
        )
    )


def test_the_example_passes_its_own_contracts(environment: Environment) -> None:
    environment.install_project(EXAMPLE)
    done = environment.python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests")
    )
    assert done.returncode == 0, done.stdout


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
    chosen = environment.convrag("rewriter=none", "limit=1")
    assert chosen.returncode == 2
    assert "rewriter=none is claimed by two distributions, convrag and sly-dist" in chosen.stderr


# The example beside four that are broken in different ways
# ---------------------------------------------------------

BROKEN = {
    "falls": "raise RuntimeError('it fell at import')",
    "misspelt": (
        "from convrag import hookimpl\n@hookimpl\ndef convrag_run_finnished(run, summary):\n    raise AssertionError\n"
    ),
    "taker": REGISTER.format(name="threshold"),
    "lacking": "import a_library_that_is_not_there",
}

NEEDY = """
from convrag import hookimpl, Rewrite, Rewriter

class Needy(Rewriter):
    "Needs what is not there."

    requires = {"a_library_that_is_not_there": "acme[all]"}

    def __init__(self) -> None:
        import a_library_that_is_not_there

    def rewrite(self, question):
        return Rewrite.of(question.text)

@hookimpl
def convrag_register(register):
    register("rewriter", "needy", Needy)
"""


@pytest.fixture
def crowd(environment: Environment) -> Environment:
    environment.install_project(EXAMPLE)
    for name, body in BROKEN.items():
        environment.install(name, {f"{name}.py": body})
    environment.install("needy", {"needy.py": NEEDY})
    return environment


def test_each_broken_one_costs_a_line_and_the_rest_works(crowd: Environment) -> None:
    done = crowd.convrag(
        "rewriter=acme_brief",
        "clusterer=acme_length",
        "clusterer.step=1000",
        "rewriter.order=oldest",
        "limit=2",
    )
    assert done.returncode == 0, done.stderr
    lines = drop_progress(done.stderr).strip().splitlines()
    said = [
        "it fell at import",
        "Did you mean 'convrag_run_finished'?",
        "rewriter=threshold is claimed",
        "No module named",
    ]
    assert [sum(part in line for line in lines) for part in said] == [1, 1, 1, 1]
    assert len(lines) == len(said)
    assert any(record["trace"]["rewriter"]["related"] for record in records(crowd))  # type: ignore[index]


def test_task_plugins_tells_the_state_of_each(crowd: Environment) -> None:
    done = crowd.convrag("task=plugins", "task.json=true")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    options = {(each["group"], each["name"]): each for each in told["options"]}
    topic, brief = options["rewriter", "acme_topic"], options["rewriter", "acme_brief"]
    assert (topic["module"], topic["file"]) == (
        "acme.rewriter:TopicRewriter",
        str(crowd.site / "acme/rewriter.py"),
    )
    assert (brief["distribution"], brief["version"], brief["state"]) == (
        "convrag-acme",
        "0.1.0",
        "ready",
    )
    assert (brief["extends"], brief["values"]) == ("acme_topic", {"words": 3})
    parameters = {each["name"]: (each["type"], each["default"]) for each in brief["parameters"]}
    assert parameters["clusterer"] == ("clusterer stage", "the run's")
    assert parameters["words"] == ("int", "8")
    assert options["rewriter", "needy"]["state"] == "needs"
    assert "acme[all]" in options["rewriter", "needy"]["message"]
    assert options["rewriter", "threshold"]["state"] == "claimed"
    assert {each["distribution"] for each in told["failures"]} == {
        f"{name}-dist" for name in BROKEN
    }
    shown = " ".join(crowd.convrag("task=plugins", "task.stage=rewriter").stdout.split())
    assert "needy needy-dist 1.0 (needy:Needy) needs Needs what is not there." in shown
    assert "words: int = 8 how many words of each such answer to add." in shown
    assert "RuntimeError: it fell at import" in shown
