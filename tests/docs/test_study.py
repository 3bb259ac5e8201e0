"""docs/examples/study: the commands of its Makefile lead from data to the table of the paper."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run_convrag
from places import ROOT

STUDY = ROOT / "docs/examples/study"
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    ignored = (STUDY / ".gitignore").read_text(encoding="utf-8").replace("/", "").split()
    return Path(shutil.copytree(STUDY, tmp_path / "study", ignore=shutil.ignore_patterns(*ignored)))


def make(study: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        ["make", f"PYTHON={sys.executable}", *arguments],
        cwd=study,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_make
@pytest.mark.slow
def test_the_commands_of_the_study_make_its_tables_and_plot(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands that `make` would run, the grid with fewer cells."""
    monkeypatch.chdir(study)
    commands = [shlex.split(line)[1:] for line in make(study, "-n").splitlines()]
    assert [command[-2:] for command in commands[2:]] == [["grid", "results"]] * 2
    for command in commands:
        if command[:2] == ["-m", "convrag"]:
            fewer = ["rewriter=none,last_n", "top_n=5"] if "-m" in command[2:] else []
            done = run_convrag([*command[2:], *fewer], study)
            assert done.returncode == 0, done.stderr
        else:
            monkeypatch.setattr(sys, "argv", command)
            runpy.run_path(command[0], run_name="__main__")
    table = (study / "results/table.md").read_text(encoding="utf-8").splitlines()
    assert table[0] == "| rewriter | nDCG@5 | ROUGE-L |"
    assert {line.split(" | ")[0] for line in table[2:]} == {"| none", "| last_n"}
    assert "".join(table).count("**") >= 4
    latex = (study / "results/table.tex").read_text(encoding="utf-8")
    assert latex.count(r" \\") == 3
    assert r"last\_n" in latex
    assert (study / "results/intervals.pdf").read_bytes().startswith(b"%PDF")
    assert (study / "results/intervals.png").stat().st_size > 5000


def test_a_difference_that_is_significant_has_a_dagger(study: Path) -> None:
    import pandas as pd

    tables = runpy.run_path(str(study / "make_tables.py"))
    rows = [("none", "ok", 0.25, None), ("last_n", "ok", 0.5, 0.04), ("mmr", "ok", 0.5, 0.05)]
    board = pd.DataFrame(rows, columns=["rewriter", "state", "nDCG@5", "nDCG@5_p_holm"])
    expected = ["| none | 0.250 |", "| last_n | **0.500**† |", "| mmr | **0.500** |"]
    assert tables["format_markdown"](board).splitlines()[2:] == expected
    assert r"last\_n & \textbf{0.500}$^\dagger$ \\" in tables["format_latex"](board)


def test_the_page_names_every_target(study: Path) -> None:
    page = (STUDY.parent / "README.md").read_text(encoding="utf-8")
    targets = re.search(
        r"^\.PHONY: all (.*)", (study / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert targets
    for target in targets[1].split():
        assert f"`make {target}`" in page
