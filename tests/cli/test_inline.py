"""Plugins that are single files, named by a command; and what the environment can ask of all
plugins.
"""

import json
import re
import sys
from pathlib import Path

import pytest

from convrag import ConvragError, Pipeline
from convrag.config.compose import compose
from convrag.registry import plugins
from third_party import Environment

IDEA = '''
from convrag import Rewrite, Rewriter, hookimpl

class Twice(Rewriter):
    """Say everything more than once.

    Args:
        times: how often.
    """

    def __init__(self, *, times: int = 2) -> None:
        self.times = times

    def rewrite(self, question):
        return Rewrite.of(" ".join([question.text] * self.times))

@hookimpl
def convrag_register(register):
    register("rewriter", "twice", Twice)
'''
QUICK = ("limit=1", "generator=none")


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made = Environment(tmp_path)
    (made.work / "idea.py").write_text(IDEA, encoding="utf-8")
    return made


def rewrites(folder: Path) -> list[str]:
    """The rewritten queries of the runs below a folder."""
    files = sorted(folder.rglob("intermediate/default.jsonl"))
    return [
        json.loads(line)["rewritten_query"]
        for file in files
        for line in file.read_text().splitlines()
    ]


@pytest.mark.slow
def test_a_file_is_a_plugin(environment: Environment) -> None:
    done = environment.convrag("plugins=[idea.py]", "rewriter=twice", "rewriter.times=3", *QUICK)
    assert done.returncode == 0, done.stderr
    assert all(
        text == " ".join([text[: len(text) // 3]] * 3) for text in rewrites(environment.work)
    )
    assert "twice" in environment.python("-m", "convrag", "plugins=[idea.py]", "--help").stdout


@pytest.mark.slow
def test_a_configuration_of_the_users_own_names_files_beside_it(environment: Environment) -> None:
    folder = environment.work / "mine"
    folder.mkdir()
    (environment.work / "idea.py").rename(folder / "idea.py")
    config = "defaults: [config, override rewriter: twice, _self_]\nplugins: [idea.py]\n"
    (folder / "mine.yaml").write_text(config, encoding="utf-8")
    done = environment.convrag("--config-dir", "mine", "--config-name=mine", *QUICK)
    assert done.returncode == 0, done.stderr
    assert rewrites(environment.work)


@pytest.mark.slow
def test_workers_of_a_grid_load_it_too(environment: Environment) -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    done = environment.convrag(
        "-m", "plugins=[idea.py]", "rewriter=twice", "rewriter.times=2,3", *launcher, *QUICK
    )
    assert done.returncode == 0, done.stderr
    assert len(list(environment.work.glob("outputs/sweeps/*/*/metrics.json"))) == 2


@pytest.mark.parametrize(
    ("argument", "text", "message"),
    [
        ("plugins=[nothing.py]", "", "nothing.py cannot be read"),
        ("plugins=idea.py", "", "this is a list of Python files"),
        ("plugins=[acme]", "", "is no Python file"),
        (
            "plugins=[broken.py]",
            "import os\nimport not_there\n",
            "broken.py, line 2 fails: ModuleNotFoundError",
        ),
        ("plugins=[broken.py]", "def x(:\n", "broken.py, line 1 fails: SyntaxError"),
        ("plugins=[broken.py]", IDEA.replace("twice", "dhrag"), "Choose another name in broken.py"),
    ],
)
def test_a_file_that_is_no_plugin_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", [])
    (tmp_path / "broken.py").write_text(text, encoding="utf-8")
    with pytest.raises(ConvragError, match=re.escape(message)):
        compose(argument)


def test_a_file_that_was_changed_is_loaded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also within a second, and with a bytecode file of the former contents beside it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "idea.py"
    asked = []
    for times in (2, 4):
        path.write_text(IDEA.replace("int = 2", f"int = {times}"), encoding="utf-8")
        overrides = [
            f"plugins=['{path}']",
            "rewriter=twice",
            "generator=none",
            f"store.path='{tmp_path}/store'",
        ]
        asked.append(Pipeline.compose(*overrides).turn("c", "Tea?").rewritten_query)
    assert asked == ["Tea? Tea?", "Tea? Tea? Tea? Tea?"]


@pytest.mark.slow
def test_calls_of_hooks_are_traced(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = "\n@hookimpl\ndef convrag_run_finished(summary):\n    return None\n"
    (environment.work / "idea.py").write_text(IDEA + watching, encoding="utf-8")
    monkeypatch.setenv("CONVRAG_TRACE", "1")
    done = environment.convrag("plugins=[idea.py]", "rewriter=twice", *QUICK)
    assert done.returncode == 0
    assert "convrag: trace: convrag_register(register) of idea.py:idea -> []" in done.stderr
    assert re.search(
        r"convrag: trace: convrag_run_finished\(run, summary\) of .*idea.py:idea", done.stderr
    )


@pytest.mark.slow
def test_strict_plugins_end_the_command(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.convrag(*QUICK).returncode == 0
    environment.install("broken", {"broken.py": "raise ValueError('of no use')"})
    assert environment.convrag(*QUICK).returncode == 0
    monkeypatch.setenv("CONVRAG_STRICT_PLUGINS", "1")
    done = environment.convrag(*QUICK)
    assert done.returncode == 2
    assert done.stderr.count("of no use") == 1
    assert "CONVRAG_STRICT_PLUGINS is set" in done.stderr
