"""RAGBoost's examples in docs/examples/multi_turn: each runs as a user runs it, and prints what it
is about.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "docs/examples/multi_turn"

PRINTED = {
    "basic": [
        "Turn 3: ",
        "Deduplicated: 0 of 3 docs",
        "[Doc_practice]: Best practices",
        "Please refer to [Doc_ml] in",
    ],
    "stats": [
        "(5 turns)",
        "retrieved: 25",
        "without deduplication 25",
        "Deduplication rate: 72%",
        "Tokens saved: ",
    ],
    "per_conversation": [
        "second turn of conv_1: 0 novel, 3 deduplicated",
        "first turn of conv_2: 3 novel, 0 deduplicated",
        "second turn of conv_2, after a restart: 0 novel, 3 deduplicated",
        "conv_1 after its reset: None",
        "first turn of the new conv_1: 3 novel, 0 deduplicated",
        "Conversations after the reset of all: 0",
    ],
    "concurrent_conversations": [
        "user_1_session: 3 turns, ",
        "user_3_session: 3 turns, ",
        "Total conversations: 3",
    ],
    "generation": ["compare with a simple baseline", "Deduplicated: ['", "Generation time: "],
}


@pytest.mark.parametrize("example", PRINTED)
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(FOLDER / f"{example}.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for text in PRINTED[example]:
        assert text in done.stdout


def test_every_example_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(PRINTED)
