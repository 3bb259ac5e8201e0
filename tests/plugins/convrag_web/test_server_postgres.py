"""Two servers over one PostgreSQL database."""

from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
pytest.importorskip("psycopg")

from postgres_server import PostgresServer
from served import serve

pytestmark = pytest.mark.cluster


def test_a_conversation_goes_on_in_another_process_of_the_same_database(
    postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    address = postgres.make_database()
    given = ["generator=direct"]
    with (
        serve(tmp_path / "a", *given, database=address) as first,
        serve(tmp_path / "b", *given, database=address) as second,
    ):
        id = first.http.post("/api/conversations", json={}).json()["id"]
        for number, server in enumerate([first, second, second, first], start=1):
            path = f"/api/conversations/{id}"
            reply = server.http.post(
                f"{path}/turns", json={"question": f"Why has the Moon {number} \0 phases?"}
            )
            assert reply.status_code == 200, reply.text
            assert "event: record" in reply.text
            assert server.http.get(path).json()["turns"] == number
        assert (
            first.http.get("/api/conversations").json()
            == second.http.get("/api/conversations").json()
        )
        second.http.delete(path)
        assert first.http.get(path).status_code == 404
