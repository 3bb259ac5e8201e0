"""Tab completion: what may follow in a command, and how a real bash completes it."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag.api.groups import GROUPS
from convrag.cli.completion import complete_line
from convrag.config.settings import PRESETS
from convrag.config.variants import variants
from convrag.registry import plugins


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("convrag rewr", ["rewriter.", "rewriter="]),
        ("python -m convrag rewriter=thr", ["rewriter=threshold "]),
        ("convrag embedder=b", ["embedder=bge ", "embedder=bge_plain "]),
        ("convrag rewriter=mmr rewriter.clusterer=a", ["rewriter.clusterer=agglomerative "]),
        ("convrag rewriter=mmr rewriter.clusterer.rest", ["rewriter.clusterer.restarts="]),
        (
            "convrag rewriter=mmr rewriter.clusterer=agglomerative rewriter.clusterer.",
            ["rewriter.clusterer.k=", "rewriter.clusterer.threshold="],
        ),
        ("convrag rewriter=last_n rewriter.n", ["rewriter.n="]),
        ("convrag rewriter=last_n rewriter.n=", ["rewriter.n=2 "]),
        ("convrag -m rewriter=last_n,none rewriter.n", ["rewriter.n="]),
        ("convrag retriever.stemmer=e", ["retriever.stemmer=english "]),
        ("convrag +system=gi", ["+system=ginger ", "+system=ginger_lexical "]),
        ("convrag +system=mmr rewriter.lam", ["rewriter.lambda_="]),
        ("convrag -m rewriter=none,la", ["rewriter=none,last_n"]),
        ("convrag metrics=[ranking,an", ["metrics=[ranking,answerability", "metrics=[ranking,answers"]),
        ("convrag 'metrics=[ranking,answers,nug", ["metrics=[ranking,answers,nuggets"]),
        ("convrag metrics=[ranking] metrics.", ["metrics.ranking."]),
        ("convrag metrics.ranking.mea", ["metrics.ranking.measures="]),
        ("convrag history=g", ["history=generated ", "history=gold "]),
        ("convrag report=", ["report=false ", "report=true "]),
        ("convrag sweep.met", ["sweep.metric="]),
        ("convrag --mul", ["--multirun "]),
        ("convrag nonsense=3 plugins=[/nowhere.py] rewriter=mmrr rewriter.n", []),
        ("convrag nonsense.", []),
    ],
)
def test_what_may_follow(line: str, expected: list[str]) -> None:
    assert complete_line(line) == expected


def test_every_group_option_and_parameter_is_offered() -> None:
    registry = plugins.load().registry
    assert {*complete_line("convrag ")} >= {f"{group}=" for group in GROUPS} | {f"+{preset}=" for preset in PRESETS}
    for group in GROUPS:
        names = {*registry.options(group), *variants(group)}
        assert {*complete_line(f"convrag {group}=")} == {f"{group}={name} " for name in names}
        for name, option in registry.options(group).items():
            place = f"{group}.{name}" if group == "metrics" else group
            found = complete_line(f"convrag {group}={name} {place}.")
            assert {*found} >= {f"{place}.{each}=" for each in option.list_parameters()}


def test_the_options_of_a_plugin_file_are_offered(tmp_path: Path) -> None:
    file = tmp_path / "completion_idea.py"
    file.write_text(
        "from convrag import Rewrite, Rewriter, hookimpl\n\n\nclass Twice(Rewriter):\n"
        '    """Say it twice."""\n\n    def __init__(self, *, times: int = 2) -> None:\n        self.times = times\n\n'
        "    def rewrite(self, question):\n        return Rewrite.of(question.text)\n\n\n"
        '@hookimpl\ndef convrag_register(register):\n    register("rewriter", "completion_twice", Twice)\n',
        encoding="utf-8",
    )
    line = f"convrag plugins=[{file}] rewriter=completion_twice rewriter."
    try:
        assert complete_line(line) == ["rewriter.times="]
    finally:
        plugins.forget()


def test_an_answer_takes_neither_hydra_nor_a_stage() -> None:
    code = (
        "import sys; sys.argv = ['convrag', '-sc', 'query=bash']; from convrag.__main__ import main; main(); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'hydra', 'numpy', 'pydantic', 'litellm'}))"
    )
    environment = {**os.environ, "COMP_LINE": "convrag rewriter=last_"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "rewriter=last_n \n\n"


# A real bash -------------------------------------------------------------------------------------------------------


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Any]:
    """An interactive bash in which convrag's completion is installed."""
    pexpect = pytest.importorskip("pexpect")
    for name, module in {"convrag": "-m convrag", "python": ""}.items():
        command = tmp_path / name
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        command.chmod(0o755)
    (tmp_path / "passages.jsonl").touch()
    path = os.pathsep.join([str(tmp_path), os.environ.get("PATH", "/bin:/usr/bin")])
    environment = {**os.environ, "PATH": path, "PS1": "$ ", "TERM": "dumb", "PYTHONPATH": os.pathsep.join(sys.path)}
    shell = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        env=environment,
        cwd=tmp_path,
        encoding="utf-8",
        timeout=30,
        dimensions=(40, 200),
    )
    shell.sendline("bind 'set enable-bracketed-paste off'; bind 'set bell-style none'")
    shell.sendline('eval "$(convrag -sc install=bash)"; echo in"stalled"')
    shell.expect("installed")
    yield shell
    shell.close(force=True)


@pytest.mark.parametrize(
    ("command", "typed", "completed"),
    [
        ("convrag", "rewriter=thr", "<rewriter=threshold>"),
        ("convrag", "'metrics=[ranking,nug", "<metrics=[ranking,nuggets>"),
        ("convrag", "dataset=jsonl dataset.corpus=pass", "<dataset=jsonl><dataset.corpus=passages.jsonl>"),
        ("python -m convrag", "rewriter=mmr rewriter.clusterer=ag", "<rewriter=mmr><rewriter.clusterer=agglomerative>"),
    ],
)
def test_bash_completes_the_command(bash: Any, command: str, typed: str, completed: str) -> None:
    bash.send(f"{command} {typed}\t")
    bash.sendline("\x01printf '<%s>' \x05")  # at the beginning of the line: show the words that have come of it
    bash.expect_exact(f"<{command.replace(' ', '><')}>{completed}")


def test_another_python_is_completed_as_before(bash: Any) -> None:
    bash.send("python pass\t")
    bash.sendline("\x01printf '<%s>' \x05")
    bash.expect_exact("<python><passages.jsonl>")
