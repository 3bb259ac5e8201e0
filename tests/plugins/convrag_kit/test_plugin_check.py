"""`task=plugins task.check=PACKAGE`: the contracts run against installed plugins."""

from pathlib import Path
from unittest import SkipTest

import pytest

from convrag import LLMError, UnknownName
from convrag_kit import plugin_check
from convrag_kit.list_plugins import ListPluginsTask, check_plugin
from convrag_kit.plugin_check import CheckedOption, Result, check_option, find_options
from places import ROOT
from third_party import Environment


def test_a_plugin_is_found_by_each_of_its_names() -> None:
    by_package = sorted((each.group, each.name) for each in find_options("convrag_memory"))
    names = ["forgetting", "recent", "relevant", "summary"]
    assert by_package == [("memory", name) for name in names]
    assert sorted(each.name for each in find_options("memory")) == names
    assert find_options("convrag_memory", "rewriter") == []
    assert len(find_options("convrag")) > 100


def test_an_unknown_plugin_is_an_error_that_lists_the_distributions() -> None:
    with pytest.raises(UnknownName, match=r"task.check: plugin 'convrage' does not.*'convrag'"):
        check_plugin("convrage")


def test_an_installed_option_passes_its_contract() -> None:
    (recent,) = [each for each in find_options("convrag_memory") if each.name == "recent"]
    checked = check_option(recent)
    assert checked.choice == "memory=recent"
    assert checked.count("failed") == 0
    assert checked.count("passed") > 15
    names = [result.check for result in checked.results]
    assert names[0] == "its line of help is the first line of its docstring"
    assert "threads may share it" in names


def test_an_option_that_needs_a_value_says_so() -> None:
    (option,) = [each for each in find_options("convrag_datasets") if each.name == "jsonl"]
    (result,) = check_option(option).results
    assert result.outcome == "not run"
    assert "dataset.conversations" in result.message


def passing() -> None:
    assert True


def failing() -> None:
    raise AssertionError


def skipping() -> None:
    raise SkipTest("there is no need")


def asking() -> None:
    raise LLMError("no rule for the task 'recap'")


def falling() -> None:
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("test", "outcome", "message"),
    [
        (passing, "passed", ""),
        (failing, "failed", "raise AssertionError in "),
        (skipping, "not run", "there is no need"),
        (asking, "not run", "no rule for the task 'recap' (it asks a language model: add llm="),
        (falling, "failed", "ZeroDivisionError: by zero (raise ZeroDivisionError"),
    ],
)
def test_the_outcome_of_a_check(test: object, outcome: str, message: str) -> None:
    result = plugin_check._run_check(test)  # type: ignore[arg-type]
    assert result.outcome == outcome
    assert message in result.message


def test_a_report_counts_and_names_what_did_not_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    results = [Result("passed", "one"), Result("failed", "two", "it is odd")]
    monkeypatch.setattr(
        plugin_check, "check_option", lambda option, overrides: CheckedOption("memory=x", results)
    )
    task = ListPluginsTask(check="convrag_memory")
    assert task.execute(None, tmp_path) == 1  # type: ignore[arg-type]
    printed = capsys.readouterr().out
    assert "memory=x  1 passed, 1 failed" in printed
    assert "failed: two: it is odd" in printed
    assert "convrag_memory: 4 checks passed, 4 failed, 0 were not run" in printed


BROKEN = """
from convrag import Rewrite, Rewriter, hookimpl

class Counting(Rewriter):
    "Counts its calls."

    def __init__(self, *, step: int = 1) -> None:
        self.step = step
        self.calls = 0

    def rewrite(self, question):
        self.calls += self.step
        return Rewrite.of(f"{question.text} {self.calls}")

@hookimpl
def convrag_register(register):
    register("rewriter", "counting", "counting:Counting", "Count.")
"""


@pytest.mark.slow
def test_plugins_of_others_are_checked(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    environment.install_project(ROOT / "docs/examples/acme")
    environment.install("counting", {"counting.py": BROKEN})
    good = environment.convrag("task=plugins", "task.check=convrag-acme")
    assert good.returncode == 0, good.stdout + good.stderr
    assert " 0 failed, 0 were not run" in good.stdout
    bad = environment.convrag("task=plugins", "task.check=counting-dist")
    assert bad.returncode == 1, bad.stdout + bad.stderr
    shown = " ".join(bad.stdout.split())
    assert "failed: it is deterministic: the same call gives something else" in shown
    assert "failed: it explains its parameters: explain under Args: in the docstring: step" in shown
    assert "registered: 'Count.'; docstring: 'Counts its calls.'" in shown
