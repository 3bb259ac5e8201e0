"""Stages that hang: their turns end at the timeout, and other turns get their places."""

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag_basics.direct import DirectGenerator
from convrag_web.server import turn_runner
from convrag_web.server.task import ServeTask
from served import RunningServer, serve


class Gate:
    """Lets generators of turns hang, at a word, until it opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._opened = threading.Event()
        generate = DirectGenerator.generate

        def hang_or_generate(generator: Any, question: Any, evidence: Any) -> Any:
            if "HANG" in question.text:
                self._opened.wait()
            return generate(generator, question, evidence)

        monkeypatch.setattr(DirectGenerator, "generate", hang_or_generate)

    def open(self) -> None:
        """Let them go on."""
        self._opened.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.open()


@pytest.fixture
def server(tmp_path: Path, gate: Gate) -> Iterator[RunningServer]:
    with serve_hanging(tmp_path, ServeTask(workers=2, timeout=1.0)) as running:
        yield running


def serve_hanging(folder: Path, limits: ServeTask) -> Any:
    return serve(folder, "generator=direct", limits=limits, live=True)


def ask(server: RunningServer, text: str) -> httpx.Response:
    return server.complete({"role": "user", "content": text})


def ask_at_once(server: RunningServer, *texts: str) -> list[httpx.Response]:
    """Ask several questions at once; the replies in the order of the questions."""
    replies: dict[int, httpx.Response] = {}

    def ask_one(place: int, text: str) -> None:
        replies[place] = ask(server, text)

    threads = [
        threading.Thread(target=ask_one, args=(place, text)) for place, text in enumerate(texts)
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.2)  # so that they come in order
    for thread in threads:
        thread.join(60)
    return [reply for _, reply in sorted(replies.items())]


def wait_for_health(server: RunningServer, status: str, lost: int | None = None) -> dict[str, Any]:
    """Wait until /healthz has a status, and counts so many lost threads."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        health: dict[str, Any] = server.http.get("/healthz").json()
        if health["status"] == status and lost in (None, health.get("lost_threads")):
            return health
        time.sleep(0.1)
    raise AssertionError(f"/healthz still says {health}")


def test_a_turn_that_hangs_gives_its_place_back(
    server: RunningServer, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "convrag.serve")
    hanging = ask_at_once(server, "HANG moon", "HANG moon")
    assert [reply.status_code for reply in hanging] == [504, 504]
    assert hanging[0].json()["error"]["code"] == "turn_timeout"
    wait_for_health(server, "degraded", lost=2)
    assert server.http.get("/healthz").status_code == 200
    assert ask(server, "moon").status_code == 200
    metrics = server.http.get("/metrics").text
    assert "convrag_lost_threads 2.0" in metrics
    assert "convrag_turns_in_progress 0.0" in metrics
    assert 'convrag_turns_total{model="convrag",outcome="timeout"} 2.0' in metrics
    assert "threading.py, line" in caplog.text  # where it hangs
    gate.open()
    wait_for_health(server, "ok")
    assert "convrag_lost_threads 0.0" in server.http.get("/metrics").text


def test_a_conversation_goes_on_after_a_turn_that_hung(server: RunningServer, gate: Gate) -> None:
    id = server.http.post("/api/conversations", json={}).json()["id"]
    turns = f"/api/conversations/{id}/turns"
    reply = server.http.post(turns, json={"question": "HANG moon"})
    assert "turn_timeout" in reply.text
    wait_for_health(server, "degraded")
    gate.open()
    wait_for_health(server, "ok")
    assert "event: record" in server.http.post(turns, json={"question": "moon"}).text
    records = server.http.get(f"/api/conversations/{id}").json()["records"]
    assert [record["original_query"] for record in records] == ["moon"]


def test_a_turn_waits_for_a_limited_time(tmp_path: Path, gate: Gate) -> None:
    limits = ServeTask(workers=1, timeout=8.0, queue_timeout=1.0)
    with serve_hanging(tmp_path, limits) as server:
        hanging, waiting = ask_at_once(server, "HANG moon", "moon")
        assert hanging.status_code == 504
        assert waiting.status_code == 503
        assert waiting.headers["retry-after"] == "10"
        assert "task.queue_timeout" in waiting.json()["error"]["message"]
        gate.open()


def test_a_server_whose_threads_hang_says_that_it_must_be_restarted(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_runner, "LEAST_LOST_THREADS", 2)
    with serve_hanging(tmp_path, ServeTask(workers=2, timeout=1.0)) as server:
        ask_at_once(server, "HANG moon", "HANG moon")
        health = wait_for_health(server, "failing")
        assert "must be started again" in health["message"]
        assert server.http.get("/healthz").status_code == 503
        refused = ask(server, "moon")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "must_restart")
        gate.open()
        wait_for_health(server, "ok")
        assert ask(server, "moon").status_code == 200


def test_suggestions_that_hang_end_at_the_timeout(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = server.http.post("/api/conversations", json={}).json()["id"]
    server.http.post(f"/api/conversations/{id}/turns", json={"question": "moon"})
    end = threading.Event()
    monkeypatch.setattr(server.models["convrag"], "suggest", lambda record: end.wait() and [])
    reply = server.http.post(f"/api/conversations/{id}/suggestions")
    assert reply.status_code == 504
    wait_for_health(server, "degraded")
    end.set()
    wait_for_health(server, "ok")
