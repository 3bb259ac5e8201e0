"""The same folder, given to two commands at once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from commands import LIBRARIES, StartedCommand
from convrag.concurrency.locks import FOLDER_LOCK
from llm_server import Server

pytest.importorskip("litellm")
pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.delay = 0.3
    yield server
    server.close()


def start(folder: Path, server: Server, *arguments: str) -> StartedCommand:
    llm = (
        "llm=openai_compatible",
        f"llm.api_base={server.address}",
        "llm.model=openai/any",
        "generator=direct",
    )
    plain = ("hydra.run.dir=shared", "limit=1", "workers=1", "tracker=none")
    command = [*llm, *plain, *arguments]
    return StartedCommand(command, folder, libraries=LIBRARIES, stdout=PIPE, stderr=PIPE, text=True)


def check_files(folder: Path, printed: str, override: str) -> None:
    """All files in the folder are of the command with this override, and whole."""
    turns = json.loads((folder / "metrics.json").read_text())["turns"]
    for name in ("datasets/default.jsonl", "intermediate/default.jsonl"):
        lines = [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
        ids = {line.get("turn_id", line.get("_id")) for line in lines}
        assert len(lines) == turns, name
        assert len(ids) == turns, name
    assert override in (folder / ".hydra/overrides.yaml").read_text()
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == [".hydra"]
    assert f"Results: {folder}" in printed


def test_a_run_in_a_folder_that_is_being_written(server: Server, tmp_path: Path) -> None:
    """The one that comes late is refused at once, and leaves all as it was; when the first is
    killed, it is free.
    """
    first = start(tmp_path, server, "top_n=2")
    while not server.requests:
        assert first.poll() is None
        time.sleep(0.02)
    late = start(tmp_path, server, "top_n=3")
    assert late.communicate(timeout=300)[1].startswith(
        f"convrag: {tmp_path / 'shared'} is in use by process {first.pid}"
    )
    assert late.returncode == 2
    assert first.poll() is None
    assert "top_n=2" in (tmp_path / "shared/.hydra/overrides.yaml").read_text()
    first.kill()
    first.communicate()
    assert (tmp_path / "shared" / FOLDER_LOCK).exists()
    again = start(tmp_path, server, "top_n=4")
    printed, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors
    check_files(tmp_path / "shared", printed, "top_n=4")
