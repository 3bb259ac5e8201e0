"""The same folder, given to two commands at once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from commands import LIBRARIES, StartedCommand
from convrag.store.locks import FOLDER_LOCK
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
    llm = ("llm=openai_compatible", f"llm.api_base={server.address}", "llm.model=openai/any", "generator=direct")
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


def test_two_runs_that_start_at_once_in_one_folder(server: Server, tmp_path: Path) -> None:
    """The second deleted the first one's unfinished files, and what was published was of both."""
    overrides = ("top_n=2", "top_n=3")
    running = [start(tmp_path, server, override) for override in overrides]
    said = [process.communicate(timeout=300) for process in running]
    statuses = [process.returncode for process in running]
    assert sorted(statuses) == [0, 2], said
    winner, loser = statuses.index(0), statuses.index(2)
    folder = tmp_path / "shared"
    assert said[loser][1].startswith(f"convrag: {folder} is in use by process {running[winner].pid} on ")
    assert said[loser][1].count("\n") == 1
    check_files(folder, said[winner][0], overrides[winner])


def test_a_run_in_a_folder_that_is_being_written(server: Server, tmp_path: Path) -> None:
    """The one that comes late is refused at once, and leaves all as it was; when the first is killed, it is free."""
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
