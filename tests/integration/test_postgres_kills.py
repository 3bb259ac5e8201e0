"""Kills of a server, of a grid and of PostgreSQL itself, with conversations and store in PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest

pytest.importorskip("psycopg")
pytest.importorskip("fastapi")

from killing import check_killed
from postgres_server import PASSWORD, PostgresServer, find_binaries, running_server
from served import ServeCommand, serve_command
from served_grid import TWO, ServedGrid, make_public_address

pytestmark = [pytest.mark.cluster, pytest.mark.integration]

CLIENTS = 6
KILLS = 4

SLOW = """
from convrag import LLM, Completion, hookimpl
from convrag.concurrency.cancellation import sleep
from convrag.concurrency.streaming import current_listener

class SlowLLM(LLM):
    "Streams a reply of five words, one in 20 ms."
    def complete(self, prompt):
        listener = current_listener()
        words = [f"word{number} " for number in range(5)]
        for word in words:
            sleep(0.02)
            if listener:
                listener(word)
        return Completion("".join(words).strip(), 10, 5, cost_usd=0.0)
    def count_tokens(self, text):
        return len(text.split())

@hookimpl
def convrag_register(register):
    register("llm", "slow", SlowLLM)
"""


@dataclass
class Client:
    """A client that asks in one conversation until its server has gone, and again at the next one.

    Args:
        number: of the client.
        conversation: its id, once it has begun.
        asked: the questions, in their order.
        acknowledged: the questions whose record was read whole.
        failures: how many questions the server answered with an error.
    """

    number: int
    conversation: str = ""
    asked: list[str] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    failures: int = 0

    def ask_until_gone(self, address: str) -> None:
        """Ask one question after the other, until the connection fails."""
        with (
            contextlib.suppress(httpx.TransportError),
            httpx.Client(base_url=address, timeout=60) as http,
        ):
            if not self.conversation:
                self.conversation = http.post("/api/conversations", json={}).json()["id"]
            while True:
                self.ask(http)

    def ask(self, http: httpx.Client) -> bool:
        """Ask one question; return whether it was acknowledged."""
        question = f"What is crater {len(self.asked)} of client {self.number}?"
        self.asked.append(question)
        path = f"/api/conversations/{self.conversation}/turns"
        reply = http.post(path, json={"question": question})
        is_acknowledged = reply.status_code == 200 and "event: record" in reply.text
        if is_acknowledged:
            self.acknowledged.add(question)
        else:
            self.failures += 1
        return is_acknowledged

    def check(self, http: httpx.Client) -> None:
        """Check that the server shows each acknowledged turn once, whole and in its place.

        A turn whose reply did not arrive may be there, or not.
        """
        if not self.conversation:
            return
        path = f"/api/conversations/{self.conversation}"
        shown = http.get(path)
        assert shown.status_code == 200, shown.text
        records = shown.json()["records"]
        questions = [record["original_query"] for record in records]
        assert self.acknowledged <= set(questions)
        assert questions == [each for each in self.asked if each in questions], "once, in order"
        assert all(record["agent_response"] and record["turn_id"] for record in records)
        for number in range(1, len(records) + 1):
            assert http.get(f"{path}/turns/{number}").json() == records[number - 1]


@contextlib.contextmanager
def serving(folder: Path, database: str, port: int = 0) -> Iterator[ServeCommand]:
    """A server whose store and conversations are in a database."""
    (folder / "slow.py").write_text(SLOW)
    options = [
        "store.url=${oc.env:KILLED}",
        "task.conversations=${oc.env:KILLED}",
        *("plugins=[slow.py]", "llm=slow", "generator=direct", "rewriter=none"),
    ]
    with serve_command(folder, *options, environment={"KILLED": database}, port=port) as server:
        yield server


def start_asking(clients: list[Client], address: str) -> list[threading.Thread]:
    threads = [threading.Thread(target=client.ask_until_gone, args=[address]) for client in clients]
    for thread in threads:
        thread.start()
    return threads


def wait_for_turns(clients: list[Client], count: int) -> None:
    """Wait until so many more turns are acknowledged."""
    before = sum(len(client.acknowledged) for client in clients)
    deadline = time.monotonic() + 120
    while sum(len(client.acknowledged) for client in clients) < before + count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_server_that_is_killed_with_turns_in_flight_has_every_acknowledged_turn(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """The next server has each of them once, and goes on; no session of a killed one stays."""
    database = postgres.make_database()
    clients = [Client(number) for number in range(CLIENTS)]
    for kill in range(KILLS):
        with serving(tmp_path, database) as server:
            with httpx.Client(base_url=server.address, timeout=60) as http:
                for client in clients:
                    client.check(http)
            threads = start_asking(clients, server.address)
            wait_for_turns(clients, 3 * CLIENTS + kill)
            os.kill(server.process.pid, signal.SIGKILL)
            for thread in threads:
                thread.join(60)
                assert not thread.is_alive()
    with serving(tmp_path, database) as server, httpx.Client(base_url=server.address) as http:
        http.timeout = 60
        for client in clients:
            client.check(http)
            assert client.ask(http)
            client.check(http)
        name = database.rpartition("/")[2]
        sessions = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
        ((count,),) = postgres.execute(sessions)
        assert isinstance(count, int)
        assert count <= 12, "those of this server's store and conversations"
    assert sum(client.failures for client in clients) == 0


def test_postgres_that_fails_with_turns_in_flight_has_every_acknowledged_turn(
    tmp_path: Path,
) -> None:
    """The server of convrag goes on when the database is back: it needs no restart."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    clients = [Client(number) for number in range(CLIENTS)]
    with running_server(binaries) as own, serving(tmp_path, own.make_database()) as server:
        ending = threading.Event()

        def ask_until_told(client: Client) -> None:
            with httpx.Client(base_url=server.address, timeout=120) as http:
                client.conversation = http.post("/api/conversations", json={}).json()["id"]
                while not ending.is_set():
                    client.ask(http)

        threads = [threading.Thread(target=ask_until_told, args=[client]) for client in clients]
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            wait_for_turns(clients, 3 * CLIENTS)
            own.stop()
            time.sleep(0.3)
            own.start()
        wait_for_turns(clients, CLIENTS)
        ending.set()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        with httpx.Client(base_url=server.address, timeout=60) as http:
            for client in clients:
                client.check(http)


def test_a_grid_that_is_killed_asks_nothing_whose_reply_is_in_postgres(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    calm, early, late = (
        ServedGrid.make(tmp_path / name, postgres, make_public_address(postgres), *TWO)
        for name in ("calm", "early", "late")
    )
    calm.finish()
    for disturbed, share in ((early, 0.2), (late, 0.7)):
        most = int(calm.asked() * share)
        stored, again = check_killed(disturbed, calm, partial(has_asked, disturbed, most))
        assert stored > 0
        assert again > 0


def has_asked(grid: ServedGrid, count: int, _: float) -> bool:
    """Whether the grid's LLM has answered so many calls."""
    return grid.asked() >= count
