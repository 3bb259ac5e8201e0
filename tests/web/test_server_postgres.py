"""Two servers over one PostgreSQL database."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
pytest.importorskip("psycopg")

from served import serve

pytestmark = pytest.mark.integration

PROGRAMS = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of this test's own. It does not run as root."""
    if PROGRAMS is None or not (PROGRAMS / "initdb").exists():
        pytest.skip("PostgreSQL is not installed")
    folder = tmp_path_factory.mktemp("postgres")
    prefix: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        for parent in [folder, *folder.parents][:3]:
            parent.chmod(0o755)
        prefix = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        command = [*prefix, str(PROGRAMS / program), *arguments]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "me", "-A", "trust")
    run("pg_ctl", "-D", data, "-w", "-o", f"-p {port} -h 127.0.0.1 -k {folder} -F", "-l", str(folder / "log"), "start")
    yield f"postgresql+psycopg://me@127.0.0.1:{port}/postgres"
    run("pg_ctl", "-D", data, "-m", "immediate", "stop")


def test_a_conversation_goes_on_in_another_process_of_the_same_database(address: str, tmp_path: Path) -> None:
    given = ["generator=direct"]
    with (
        serve(tmp_path / "a", *given, database=address) as first,
        serve(tmp_path / "b", *given, database=address) as second,
    ):
        id = first.http.post("/api/conversations", json={}).json()["id"]
        for number, server in enumerate([first, second, second, first], start=1):
            path = f"/api/conversations/{id}"
            reply = server.http.post(f"{path}/turns", json={"question": f"Why has the Moon {number} \0 phases?"})
            assert reply.status_code == 200, reply.text
            assert "event: record" in reply.text
            assert server.http.get(path).json()["turns"] == number
        assert first.http.get("/api/conversations").json() == second.http.get("/api/conversations").json()
        second.http.delete(path)
        assert first.http.get(path).status_code == 404
