"""The tutorial does what it says: its files are written and its commands run, in their order, as
they stand there.

Those of convrag are forked (see tests/support/commands.py) until the package of the tutorial is
there, which pip installs.
"""

import json
import os
import re
import shlex
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from commands import LIBRARIES, run_convrag
from mlflow_database import copy_database
from places import ROOT
from third_party import needs_pip

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
FILE = r"`(?P<path>[\w./-]+)`:\n\n```(?:python|yaml|jinja)\n(?P<text>.*?)^```"
COMMANDS = r"(?<!-->\n)^```bash\n(?P<commands>.*?)^```"
COMMAND = "python -m convrag "
STEP = re.compile(f"{FILE}|{COMMANDS}", re.MULTILINE | re.DOTALL)


def fresh_python(folder: Path) -> Path:
    """The Python of a new virtual environment, which sees what is installed here."""
    venv.create(folder)
    (packages,) = folder.glob("lib/*/site-packages")
    seen = [path for path in (*site.getsitepackages(), *sys.path) if "site-packages" in path]
    (packages / "seen.pth").write_text(
        "".join(f"import site; site.addsitedir({path!r})\n" for path in seen)
    )
    return folder / "bin"


@needs_pip
def test_the_tutorial(tmp_path: Path, database: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PATH": f"{fresh_python(tmp_path / 'venv')}:{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",  # what a user's pip would fetch is here already
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say no
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    work = tmp_path / "work"
    work.mkdir()
    copy_database(
        database, work
    )  # that a command makes its own is for tests/plugins/convrag_mlflow/test_mlflow.py
    steps = list(STEP.finditer(PAGE))
    assert len(steps) == PAGE.count("```") / 2 - PAGE.count("<!-- not run: ") == 20, (
        "a block is neither a file nor commands"
    )
    for step in steps:
        if path := step["path"]:
            (work / path).write_text(step["text"], encoding="utf-8")
            continue
        for command in step["commands"].splitlines():
            if command.startswith(COMMAND) and not (work / "tea-ideas").exists():
                done = run_convrag(
                    shlex.split(command.removeprefix(COMMAND)), work, libraries=LIBRARIES
                )
            else:
                done = subprocess.run(
                    command,
                    shell=True,
                    cwd=work,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    boards = list(work.glob("outputs/sweeps/*/leaderboard.md"))
    assert len(boards) == 2
    cells = [json.loads(cell.read_text()) for cell in work.glob("outputs/sweeps/*/*/cell.json")]
    assert len(cells) == 3 + 2
    records = [
        json.loads(line)
        for file in work.glob("outputs/*/*/intermediate/*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    added = [record["trace"].get("rewriter", {}).get("added") for record in records]
    assert any(added)
