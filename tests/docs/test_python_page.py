"""docs/python.md runs as it stands."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands import run_convrag
from markdown_blocks import blocks
from places import ROOT

PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_block_runs(tmp_path: Path) -> None:
    for command in "".join(blocks("bash", PAGE)).splitlines():
        done = run_convrag(
            [*command.removeprefix("python -m convrag").split(), "tracker=none"], tmp_path
        )
        assert done.returncode == 0, done.stderr
    program = "\n".join(blocks("python", PAGE))
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    for said in (
        "Green tea is steeped at 80 degrees for two minutes. [1]",
        "context How hot is filter coffee brewed?",
        "moon How far away is the Moon? 1 20",
        "conversation 'moon' was begun with rewriter=last_n; this is rewriter=none.",
    ):
        assert said in run.stdout
