"""No document of a megabyte costs more than 200 MB, or ends the process, whatever is in it.

Each document (tests/support/hostile_documents.py) is read in a process whose memory may grow by 200
MB; whether it is read or refused does not matter here. All of them take ten minutes of a processor:
here every third of each format is read, and all are with CONVRAG_ALL_DOCUMENTS=1, as each week.
"""

import json
import os
import subprocess
import sys

import pytest

from hostile_documents import HOSTILE
from places import ROOT

FORMATS = sorted({name.partition(".")[2] for name, _ in HOSTILE.values()})


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_no_document_of_a_megabyte_costs_more_than_200_megabytes(kind: str) -> None:
    program = ROOT / "tests/support/read_limited.py"
    folders = [str(ROOT / "tests"), str(ROOT / "tests/support")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    step = 1 if os.environ.get("CONVRAG_ALL_DOCUMENTS") else 3
    command = [sys.executable, str(program), kind, "--every", str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    endings = [json.loads(line) for line in done.stdout.splitlines()]
    of_kind = [label for label, (name, _) in HOSTILE.items() if name.partition(".")[2] == kind]
    assert [label for label, *_ in endings] == of_kind[::step]
    assert [ending for ending in endings if ending[2] != "ok"] == []
