"""Turns under load: clients that leave, too many questions, turns that fail or take too long, and
what is counted.
"""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
pytest.importorskip("litellm")

from convrag_web.server import conversation_turns, running_turn
from convrag_web.server.task import ServeTask
from llm_server import Server, Step, make_error, make_reply
from served import QUESTION, RunningServer, serve

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:Accessing the .* attribute on the instance is deprecated"
    ),  # litellm's own
    pytest.mark.filterwarnings("ignore:Item 'summary' on TypedDict:UserWarning"),  # litellm's own
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # of litellm
]

LONG = "A reply of eight words that are streamed."


@pytest.fixture
def llm() -> Iterator[Server]:
    server = Server()
    server.plan_replies(make_reply(LONG))
    yield server
    server.close()


def asking(llm: Server) -> list[str]:
    """A configuration that asks the LLM once a turn, without a memory of replies from other tests."""
    model = [
        "llm=openai_compatible",
        f"llm.api_base={llm.address}",
        "llm.model=openai/m",
        "llm.retries=0",
    ]
    return ["generator=direct", "rewriter=none", "tracker=none", *model]


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def metric(server: RunningServer, line: str) -> float:
    """The value of a metric, 0 where it is not there yet."""
    lines = server.http.get("/metrics").text.splitlines()
    return next(
        (float(each.rpartition(" ")[2]) for each in lines if each.startswith(f"{line} ")), 0.0
    )


def turns(server: RunningServer, outcome: str) -> float:
    return metric(server, f'convrag_turns_total{{model="convrag",outcome="{outcome}"}}')


def question(number: int) -> dict[str, Any]:
    """A question that is asked once: the store remembers replies."""
    return {"role": "user", "content": f"What is number {number} of the Moon's craters?"}


@pytest.mark.slow
def test_a_client_that_leaves_ends_its_turn(llm: Server, tmp_path: Path) -> None:
    llm.plan_replies(Step(body=make_reply("word " * 300), byte_delay=0.1))
    with serve(tmp_path, *asking(llm), live=True) as server:
        with server.http.stream(
            "POST", "/v1/chat/completions", json={"messages": [QUESTION], "stream": True}
        ) as reply:
            next(reply.iter_lines())
        wait_until(lambda: turns(server, "cancelled") == 1)
        with socket.create_connection(
            (server.http.base_url.host, server.http.base_url.port or 80)
        ) as client:
            body = json.dumps({"messages": [question(1)]})
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {server.http.base_url.netloc.decode()}\r\n"
            kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall((head + kind + body).encode())
            wait_until(lambda: metric(server, "convrag_turns_in_progress") == 1)
        wait_until(lambda: turns(server, "cancelled") == 2)
        assert metric(server, "convrag_turns_in_progress") == 0


def begin_turn(server: RunningServer, *, read_until: str) -> str:
    """Begin a turn, leave at the first line with such an event, and return the path of its
    conversation.
    """
    path = f"/api/conversations/{server.http.post('/api/conversations', json={}).json()['id']}"
    with server.http.stream(
        "POST", f"{path}/turns", json={"question": QUESTION["content"]}
    ) as reply:
        lines = reply.iter_lines()
        wait_until(lambda: read_until in next(lines))
    return path


def test_a_turn_of_a_conversation_goes_on_without_its_client(llm: Server, tmp_path: Path) -> None:
    llm.plan_replies(Step(body=make_reply("word " * 20), byte_delay=0.05))
    with serve(tmp_path, *asking(llm), live=True) as server:
        path = begin_turn(server, read_until="piece")
        assert server.http.get(path).json()["in_progress"] == QUESTION["content"]
        events = server.http.get(f"{path}/turns").text
        assert events.startswith("event: stage")
        assert (
            json.loads(events.strip().rpartition("data: ")[2])["agent_response"]
            == ("word " * 20).strip()
        )
        whole = server.http.get(path).json()
        assert (whole["in_progress"], whole["turns"]) == (None, 1)
        assert server.http.get(f"{path}/turns").status_code == 404


def test_a_turn_is_stopped_and_not_kept(llm: Server, tmp_path: Path) -> None:
    llm.plan_replies(Step(body=make_reply("word " * 300), byte_delay=0.1), make_reply(LONG))
    with serve(tmp_path, *asking(llm), live=True) as server:
        path = begin_turn(server, read_until="piece")
        with server.http.stream("GET", f"{path}/turns") as reply:
            assert server.http.post(f"{path}/stop").status_code == 204
            assert '"code":"cancelled"' in list(reply.iter_lines())[-2].replace(" ", "")
        assert turns(server, "cancelled") == 1
        assert server.http.post(f"{path}/stop").status_code == 204  # without effect
        assert (
            server.http.post(f"{path}/turns", json={"question": "And its far side?"}).status_code
            == 200
        )
        records = server.http.get(path).json()["records"]
        assert [record["original_query"] for record in records] == ["And its far side?"]


@pytest.mark.slow
def test_one_turn_of_a_conversation_at_a_time(
    llm: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_turns, "BUSY_SECONDS", 0.2)
    llm.plan_replies(Step(body=make_reply(LONG), byte_delay=0.3))
    with serve(tmp_path, *asking(llm), live=True) as server:
        id = server.http.post("/api/conversations", json={}).json()["id"]
        path = f"/api/conversations/{id}"
        with server.http.stream("POST", f"{path}/turns", json={"question": "One?"}) as reply:
            lines = reply.iter_lines()
            next(lines)
            for refused in (
                server.http.post(f"{path}/turns", json={"question": "Two?"}),
                server.http.post(f"{path}/reset"),
                server.http.delete(path),
            ):
                assert (refused.status_code, refused.json()["error"]["code"]) == (
                    409,
                    "conversation_busy",
                )
            assert "event: record" in list(lines)
        assert server.http.get(path).json()["turns"] == 1


@pytest.mark.slow
def test_too_many_questions_are_refused(llm: Server, tmp_path: Path) -> None:
    llm.delay = 1.0
    with serve(tmp_path, *asking(llm), live=True, limits=ServeTask(workers=2, queue=2)) as server:
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda number: server.complete(question(number)), range(8)))
        assert sorted(reply.status_code for reply in replies) == [200] * 4 + [503] * 4
        refused = next(reply for reply in replies if reply.status_code == 503)
        assert refused.headers["retry-after"] == "1"
        assert "x-should-retry" not in refused.headers
        assert refused.json()["error"]["code"] == "overloaded"
        assert llm.max_concurrent == 2
        wait_until(lambda: (turns(server, "refused"), turns(server, "answered")) == (4, 4))
        assert metric(server, "convrag_turns_waiting") == 0


def test_a_turn_that_takes_too_long_is_given_up(llm: Server, tmp_path: Path) -> None:
    llm.plan_replies(Step(body=make_reply(), silence=60))
    with serve(tmp_path, *asking(llm), live=True, limits=ServeTask(timeout=0.5)) as server:
        for stream in (False, True):
            reply = server.complete(stream=stream)
            assert (reply.status_code, reply.json()["error"]["code"]) == (504, "turn_timeout")
            assert reply.headers["x-should-retry"] == "false"
        wait_until(lambda: turns(server, "timeout") == 2)


def test_a_silent_stream_is_kept_open(
    llm: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_turn, "SILENCE_SECONDS", 0.2)
    llm.plan_replies(Step(body=make_reply(LONG), silence=1))
    with serve(tmp_path, *asking(llm), live=True) as server:
        body = server.complete(stream=True).text
        assert body.startswith(": ping\n\n")
        assert body.endswith("data: [DONE]\n\n")


def test_a_failed_turn_is_an_error(llm: Server, tmp_path: Path) -> None:
    llm.plan_replies(make_error(400, "the model is out"))
    with serve(tmp_path, *asking(llm), live=True) as server:
        for stream in (False, True):
            reply = server.complete(stream=stream)
            error = reply.json()["error"]
            assert (reply.status_code, error["type"], error["code"]) == (
                502,
                "server_error",
                "turn_failed",
            )
            assert "the model is out" in error["message"]
            assert reply.headers["x-should-retry"] == "false"
        wait_until(lambda: turns(server, "failed") == 2)
        id = server.http.post("/api/conversations", json={}).json()["id"]
        kept = server.http.post(f"/api/conversations/{id}/turns", json={"question": "Why?"}).text
        record = json.loads(kept.strip().rpartition("data: ")[2])
        assert "the model is out" in record["error"]


PRICES = "llm.extra={input_cost_per_token: 3e-5, output_cost_per_token: 6e-5}"


@pytest.mark.parametrize(
    ("exit", "told"),
    [(SystemExit(7), "SystemExit: 7"), (asyncio.CancelledError("gone"), "CancelledError: gone")],
)
def test_a_stage_that_leaves_fails_its_request_alone(
    exit: BaseException, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends neither the server nor its event loop, and is not told as a turn that was stopped."""
    from convrag_basics.direct import DirectGenerator

    def leave(self: Any, question: Any, evidence: Any) -> Any:
        raise exit

    with serve(tmp_path, "generator=direct", "llm=extractive", "tracker=none") as server:
        with monkeypatch.context() as broken:
            broken.setattr(DirectGenerator, "generate", leave)
            for streamed in (False, True):
                reply = server.complete(stream=streamed)
                assert told in reply.text
                assert "stopped" not in reply.text
                assert reply.status_code >= 500 or streamed
        assert server.complete(stream=False).status_code == 200
        assert server.http.get("/healthz").status_code == 200


def test_a_cost_limit_is_an_error(llm: Server, tmp_path: Path) -> None:
    with serve(tmp_path, *asking(llm), PRICES, "llm.max_cost_usd=1e-9", live=True) as server:
        replies = [server.complete(question(number)) for number in range(3)]
        assert [reply.status_code for reply in replies[1:]] == [429, 429]
        error = replies[-1].json()["error"]
        assert (error["type"], error["code"]) == ("insufficient_quota", "run_stopped")
        assert replies[-1].headers["x-should-retry"] == "false"
        wait_until(lambda: turns(server, "stopped") >= 2)


def test_what_is_counted(llm: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        serve(tmp_path, *asking(llm), PRICES, live=True) as server,
        caplog.at_level("INFO", "convrag.serve"),
    ):
        server.complete(question(5))
        wait_until(lambda: turns(server, "answered") == 1)
        assert metric(server, 'convrag_tokens_total{kind="prompt",model="convrag"}') == 7
        assert metric(server, 'convrag_tokens_total{kind="completion",model="convrag"}') == 3
        assert metric(server, 'convrag_cost_usd_total{model="convrag"}') == pytest.approx(
            7 * 3e-5 + 3 * 6e-5
        )
        assert metric(server, 'convrag_stage_seconds_count{stage="generator"}') == 1
        assert metric(server, 'convrag_turn_seconds_count{model="convrag"}') == 1
    (line,) = [record.getMessage() for record in caplog.records if record.name == "convrag.serve"]
    assert line.startswith("turn: model convrag, number 1, answered, ")
    assert "crater" not in caplog.text
