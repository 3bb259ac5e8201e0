"""Keys that are planted in the environment stand in nothing that a run leaves behind."""

import os
import sqlite3
import subprocess
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import LIBRARIES, run_convrag
from llm_server import Server, make_error
from secret_search import find_secrets

pytest.importorskip("litellm")
pytestmark = [pytest.mark.integration, pytest.mark.slow]

PASSWORD = "hunter2-planted-password"
PLANTED = {
    "OPENAI_API_KEY": "sk-planted-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-planted-0123456789",
    "TOGETHER_API_KEY": "planted-together-0123456789",
    "AZURE_API_KEY": "planted-azure-0123456789",
    "ES_API_KEY": "planted-elastic-0123456789",
    "MY_SERVER_KEY": "planted-of-my-server-0123456789",
}
SECRETS = [*PLANTED.values(), PASSWORD, b64encode(f"me:{PASSWORD}".encode()).decode()]
ARGUMENTS = [
    "limit=2",
    "llm=openai_compatible",
    "llm.retries=1",
    "rewriter=full_history",
    "generator=direct",
]


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def run(folder: Path, server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with the keys in its environment, and the server's address with a password."""
    address = server.address.replace("http://", f"http://me:{PASSWORD}@")
    environment = {**os.environ, **PLANTED, "MY_SERVER": address}
    return run_convrag(
        [*ARGUMENTS, *arguments], folder, environment=environment, libraries=LIBRARIES
    )


def leaks(folder: Path, done: subprocess.CompletedProcess[str]) -> list[str]:
    """Where a secret is found."""
    assert list(folder.rglob("config.yaml"))
    return find_secrets(folder, done, SECRETS)


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: 1")
    store = tmp_path / "store.sqlite"
    with sqlite3.connect(store) as database:
        database.execute("CREATE TABLE entries (value BLOB)")
        database.execute("INSERT INTO entries VALUES (?)", [zlib.compress(PASSWORD.encode() * 9)])
    database.close()
    nothing = subprocess.CompletedProcess([], 0, "", "")
    assert leaks(tmp_path, nothing) == [f"{PASSWORD} in {store}, read"]


@pytest.mark.parametrize("tracker", ["none", "mlflow"])
def test_a_run_that_goes_well(server: Server, tracker: str, tmp_path: Path) -> None:
    if tracker == "mlflow":
        pytest.importorskip("mlflow")
    done = run(
        tmp_path, server, "llm.api_base_env=MY_SERVER", "llm.api_base=null", f"tracker={tracker}"
    )
    assert done.returncode == 0, done.stderr
    assert set(server.keys) == {f"Basic {SECRETS[-1]}"}
    assert list(tmp_path.glob("outputs/store/store.sqlite"))
    assert leaks(tmp_path, done) == []


def test_a_key_that_is_sent(server: Server, tmp_path: Path) -> None:
    base = f"llm.api_base={server.address}"
    done = run(
        tmp_path,
        server,
        base,
        "llm.api_key_env=MY_SERVER_KEY",
        "tracker=none",
        "hydra.verbose=true",
    )
    assert done.returncode == 0, done.stderr
    assert set(server.keys) == {f"Bearer {PLANTED['MY_SERVER_KEY']}"}
    assert leaks(tmp_path, done) == []


@pytest.mark.parametrize("status", [401, 500])
def test_a_server_that_echoes_what_it_was_sent(server: Server, status: int, tmp_path: Path) -> None:
    server.plan_replies(make_error(status, f"you, {' '.join(SECRETS)}, are not welcome"))
    quick = ["limit=1", "llm.retries=0", "tracker=none"]
    done = run(tmp_path, server, "llm.api_base_env=MY_SERVER", "llm.api_base=null", *quick)
    assert done.returncode == 1, done.stderr
    assert leaks(tmp_path, done) == []
    assert "are not welcome" in "".join(
        path.read_text("utf-8") for path in tmp_path.rglob("intermediate/*.jsonl")
    )


def test_a_header_that_a_server_echoes(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its value is removed, though nothing is named like a secret."""
    value = "planted-of-a-plain-name-0123456789"
    monkeypatch.setenv("MY_TEAM", value)
    server.plan_replies(make_error(401, f"team {value} is unknown"))
    base = [f"llm.api_base={server.address}", "limit=1", "llm.retries=0", "tracker=none"]
    done = run(tmp_path, server, *base, "llm.extra={extra_headers: {X-Team: '${oc.env:MY_TEAM}'}}")
    assert done.returncode == 1, done.stderr
    assert "team *** is unknown" in done.stderr
    assert find_secrets(tmp_path, done, [value]) == []
