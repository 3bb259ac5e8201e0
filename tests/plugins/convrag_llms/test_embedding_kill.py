"""An index build over an API that is killed goes on where it was, and pays for nothing twice."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_server import ModelServer

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PASSAGES = 600


@pytest.fixture
def models() -> Iterator[ModelServer]:
    server = ModelServer(delay=0.05)
    yield server
    server.close()


def start_build(server: ModelServer, folder: Path) -> subprocess.Popen[bytes]:
    arguments = [
        "task=index",
        "dataset=documents",
        f"dataset.path={folder}/docs",
        f"store.path={folder}/store",
        "retriever=dense",
        "embedder=openai_compatible",
        f"embedder.api_base={server.address}",
        "embedder.model=e",
        "embedder.batch_size=5",
        "embedder.concurrency=4",
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "convrag", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def write_documents(folder: Path) -> None:
    (folder / "docs").mkdir()
    for number in range(PASSAGES):
        text = f"# Town {number}\n\nThe town with the number {number} has {number * 7} houses.\n"
        (folder / "docs" / f"{number:04}.md").write_text(text)


def test_a_killed_build_pays_for_nothing_twice(models: ModelServer, tmp_path: Path) -> None:
    write_documents(tmp_path)
    for share in (0.2, 0.6):
        process = start_build(models, tmp_path)
        end = time.monotonic() + 120
        while len(models.embedded) < share * PASSAGES and time.monotonic() < end:
            assert process.poll() is None, process.communicate()[0].decode()[-2000:]
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    time.sleep(0.5)  # requests that the server still answers
    killed = len(models.embedded)
    assert killed < PASSAGES
    output = start_build(models, tmp_path).communicate(timeout=120)[0].decode()
    counts = Counter(text for text in models.embedded if text != "convrag")
    assert len(counts) == PASSAGES, output[-2000:]
    twice = sum(count - 1 for count in counts.values())
    assert twice <= 2 * 4 * 5, "only requests in flight at a kill may be sent again"
    requests = len(models.requests)
    start_build(models, tmp_path).communicate(timeout=120)
    assert len(models.requests) == requests, "the index is complete"
