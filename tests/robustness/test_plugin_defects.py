"""Mistakes of plugin authors: each is said with the plugin, the stage, the file and the line, and
the run goes on.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from third_party import Environment

pytestmark = pytest.mark.slow

HEAD = """
from convrag import (
    Answer, Completion, Context, Embedder, Generator, LLM, Query, Ranker, Report, Retriever, Rewrite, Rewriter, hookimpl
)

class Mine({base}):
    "Says so."
{body}

@hookimpl
def convrag_register(register):
    register("{group}", "mine", Mine)

@hookimpl
def convrag_config_packages():
    return ["acme.conf"]
"""
BASES = {
    "rewriter": "Rewriter",
    "retriever": "Retriever",
    "ranker": "Ranker",
    "context": "Context",
    "generator": "Generator",
    "llm": "LLM",
    "embedder": "Embedder",
}
REWRITE = "    def rewrite(self, question):\n        return Rewrite.of(question.text)\n"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def install(environment: Environment, body: str, group: str = "rewriter", more: str = "") -> None:
    code = HEAD.format(base=BASES[group], body=body, group=group) + more
    environment.install("acme", {"acme/__init__.py": code, "acme/conf/__init__.py": ""})


def entries(environment: Environment) -> dict[str, dict[str, Any]]:
    done = environment.convrag("task=plugins", "task.json=true")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return {each["name"]: each for each in told["options"]} | {"failures": told["failures"]}


def check_place(text: str, environment: Environment, line: int) -> None:
    """The message names the plugin, its file and the line."""
    place = f"{environment.site / 'acme/__init__.py'}, line {line}"
    assert re.search(rf"plugin 'acme' of acme-dist.*{re.escape(place)}", text), text


@pytest.mark.parametrize(
    ("body", "message", "line", "status"),
    [
        (
            '    def __init__(self, *, n: int = 3):\n        int("x")\n',
            "mine cannot be built: invalid lit",
            9,
            2,
        ),
        (
            '    def check(self):\n        {}["x"]\n',
            "rewriter=mine: check failed: KeyError: 'x'",
            9,
            2,
        ),
        (
            '    def check(self):\n        return "no key"\n',
            "check returned a str, which is not a list of str",
            8,
            2,
        ),
        (
            '    def prepare(self):\n        {}["x"]\n',
            "prepare failed: KeyError: 'x' (rewriter=mine",
            9,
            1,
        ),
        (
            '    def content_hash(self):\n        {}["x"]\n',
            "mine cannot be identified: KeyError: 'x'",
            9,
            1,
        ),
        (
            '    def __init__(self, *, n: int = "three"):\n        pass\n',
            "rewriter=mine: the default",
            8,
            2,
        ),
    ],
)
def test_an_error_before_the_first_turn_names_plugin_file_and_line(
    environment: Environment, body: str, message: str, line: int, status: int
) -> None:
    install(environment, body + REWRITE)
    done = environment.convrag("rewriter=mine", "limit=1", "generator=none", "hydra.run.dir=out")
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "should not have happened" not in done.stderr
    check_place(done.stderr, environment, line)


@pytest.mark.parametrize(
    ("group", "body", "choice", "message", "status"),
    [
        (
            "rewriter",
            "def rewrite(self, q): return q.text",
            "rewriter=mine",
            "rewrite returned a str",
            3,
        ),
        (
            "retriever",
            "def retrieve(self, q, k): return ['p1']",
            "retriever=mine",
            "which is not a Hit",
            1,
        ),
        (
            "generator",
            "def generate(self, q, e): return Answer(None)",
            "generator=mine",
            "None, which is not a str",
            1,
        ),
        (
            "ranker",
            "def score(self, q, texts): return [float('nan')] * len(texts)",
            "reranker=mine",
            "score returned NaN, which is not a number to sort by",
            3,
        ),
    ],
)
def test_a_result_of_the_wrong_type_is_the_plugin_s_defect(
    environment: Environment, group: str, body: str, choice: str, message: str, status: int
) -> None:
    install(environment, f"    {body}\n", group)
    generator = () if group == "generator" else ("generator=none",)
    done = environment.convrag(choice, "limit=1", "hydra.run.dir=out", *generator)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1, "the same reason is said once"
    assert f"{environment.site / 'acme/__init__.py'}, line 8" in done.stderr
    (path,) = (environment.work / "out/intermediate").glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 7
    assert all(message in record["error"] + str(record["fallbacks"]) for record in records)
    assert (environment.work / "out/summary.md").exists()


def test_a_reply_of_the_wrong_type_is_the_llm_s_defect(environment: Environment) -> None:
    install(
        environment,
        "    def complete(self, prompt): return 'x'\n    def count_tokens(self, t): return 1\n",
        "llm",
    )
    done = environment.convrag("llm=mine", "generator=direct", "rewriter=none", "limit=1")
    assert done.returncode == 1
    assert (
        f"Mine.complete returned a str, which is not a Completion (acme, {environment.site}"
        in done.stderr
    )


def test_a_call_with_wrong_arguments_names_the_stage_and_the_plugin(
    environment: Environment,
) -> None:
    score = "    def score(self, query, texts): return self.embedder.embed(texts, True)[:, 0]\n"
    body = f"    def __init__(self, *, embedder: Embedder): self.embedder = embedder\n{score}"
    install(environment, body, "ranker")
    done = environment.convrag("reranker=mine", "limit=1", "generator=none")
    assert "too many positional arguments" in done.stderr, done.stderr
    assert "(reranker=mine, plugin 'acme' of acme-dist" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    def report(self, records): return {}['x']\n", "report failed: KeyError: 'x'"),
        ("    def note(self): return 5\n", "note returned an int, which is not a str"),
    ],
)
def test_a_stage_that_fails_to_tell_costs_no_results(
    environment: Environment, body: str, message: str
) -> None:
    install(environment, body + REWRITE)
    done = environment.convrag("rewriter=mine", "limit=1", "generator=none", "hydra.run.dir=out")
    assert done.returncode == 0, done.stderr
    assert message in done.stderr
    check_place(done.stderr, environment, 8)
    assert json.loads((environment.work / "out/metrics.json").read_text())["turns"] == 7


def test_a_hook_that_does_not_exist_marks_the_plugin_s_options(environment: Environment) -> None:
    install(
        environment, REWRITE, more="\n@hookimpl\ndef convrag_turn_finishd(run, record):\n    pass\n"
    )
    mine = entries(environment)["mine"]
    assert mine["state"] == "faulty"
    assert (
        "hook 'convrag_turn_finishd' does not exist. Did you mean 'convrag_turn_finished'?"
        in mine["message"]
    )
    check_place(mine["message"], environment, 20)
    shown = " ".join(environment.convrag("task=plugins").stdout.split())
    assert "(acme:Mine) ready, its plugin failed in part" in shown


LEAVE = """
import asyncio
import sys

from convrag import Answer, Dataset, Generator, Metrics, Ranker, Retriever, hookimpl


class Leaving:
    def __init__(self, *, where: str = "", how: str = "exit"):
        self.where = where
        self.how = how

    def leave(self, where):
        if self.where == where:
            raise {"exit": SystemExit(7), "cancel": asyncio.CancelledError("gone")}[self.how]


class LeavingGenerator(Leaving, Generator):
    "Leaves."

    def prepare(self):
        self.leave("prepare")

    def generate(self, question, evidence):
        self.leave("generate")
        return Answer("Fine.")


class LeavingMetric(Leaving, Metrics):
    "Leaves."

    def measure(self, records):
        self.leave("measure")
        return {}


@hookimpl
def convrag_turn_ended(question, record):
    if "LEAVE" in question.text:
        sys.exit(7)


@hookimpl
def convrag_register(register):
    register("generator", "leaving", LeavingGenerator)
    register("metrics", "leaving", LeavingMetric)
"""
RUN = ("rewriter=none", "llm=extractive", "limit=1", "metrics=leaving")


@pytest.mark.parametrize(
    ("how", "told"), [("exit", "SystemExit: 7"), ("cancel", "CancelledError: gone")]
)
def test_a_grid_goes_on_after_a_stage_that_leaves(
    environment: Environment, how: str, told: str
) -> None:
    """In the turns of a cell, before them, or after them."""
    environment.install("acme", {"acme/__init__.py": LEAVE})
    done = environment.convrag(
        "-m",
        *RUN,
        "generator=leaving",
        "generator.where=generate,prepare,''",
        f"generator.how={how}",
        "metrics.leaving.where=measure,''",
        f"metrics.leaving.how={how}",
        "hydra.sweep.dir=grid",
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    endings = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(environment.work.glob("grid/*/cell.json"))
    ]
    assert len(endings) == 6, done.stderr
    states = sorted(ending["state"] for ending in endings)
    assert states == [*["failed"] * 4, "ok", "partial"], endings
    assert f"prepare failed: {told}" in done.stderr
    place = rf"plugin 'acme' of acme-dist: {re.escape(str(environment.site))}/acme/__init__.py, line \d+"
    assert re.search(f"{told} .*{place}", done.stderr), done.stderr


def test_an_entry_point_that_leaves_costs_a_warning(environment: Environment) -> None:
    code = "import asyncio\nraise asyncio.CancelledError('gone')\n"
    environment.install("acme", {"acme/__init__.py": code})
    done = environment.convrag("--help")
    assert done.returncode == 0, done.stderr
    assert "plugin 'acme' of acme-dist could not be loaded (CancelledError: gone" in done.stderr
    assert "acme/__init__.py, line 2" in done.stderr
