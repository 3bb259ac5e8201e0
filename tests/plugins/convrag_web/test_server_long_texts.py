"""Long texts: while they are answered, cited, formatted and sent, the event loop serves others.

A heartbeat in the loop measures the longest time that the loop's thread computed between two beats.
That is time of a processor, so that other work on the machine does not count.
"""

import asyncio
import gc
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag import Answer
from convrag.sdk.llm.streaming import current_listener
from convrag_basics.direct import DirectGenerator
from convrag_web.server.cited_reply import CitedReply
from convrag_web.server.serving import YOUNG_OBJECTS, TurnServer
from convrag_web.server.task import ServeTask
from served import QUESTION, RunningServer, serve

LONGEST_GAP = 0.1
LENGTH = 10_000_000
LINE = "x = [1] + [2]  # " + "a" * 80 + "\n"


def repeat(text: str) -> str:
    return text * (LENGTH // len(text))


CODE = "Text [1] ```\n" + repeat(LINE)
REPLIES = {
    "open code": CODE,
    "code": f"{CODE}``` end [1]",
    "marks": "[1] " * 200_000 + repeat("The Moon is far. "),
    "open mark": "Text [" + repeat("1, "),
    "open line": "Text `" + repeat("a "),
    "spaces": "Text" + repeat(" ") + "[1]",
    "plain": repeat("The Moon is far. "),
}

REQUESTS = {
    "completion": ("/v1/chat/completions", {"messages": [QUESTION]}),
    "streamed completion": ("/v1/chat/completions", {"messages": [QUESTION], "stream": True}),
    "response": ("/v1/responses", {"input": QUESTION["content"]}),
    "streamed response": ("/v1/responses", {"input": QUESTION["content"], "stream": True}),
    "turn": ("/api/conversations/{id}/turns", {"question": QUESTION["content"]}),
}


class Heartbeat:
    """Measures the longest time that the loop's thread computes between two beats."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.beats = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def note_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Note the loop of the server."""
        self._loop = loop

    @contextmanager
    def beat(self) -> Iterator[None]:
        """Beat during the block."""
        assert self._loop is not None
        self.longest = 0.0
        self.beats = 0
        beating = asyncio.run_coroutine_threadsafe(self._beat(), self._loop)
        try:
            yield
        finally:
            beating.cancel()

    async def _beat(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.002)
            now = time.thread_time()
            self.longest = max(self.longest, now - last)
            self.beats += 1
            last = now


@pytest.fixture(scope="module")
def heartbeat() -> Iterator[Heartbeat]:
    made = Heartbeat()
    with pytest.MonkeyPatch.context() as patch:
        on_tick = TurnServer.on_tick

        async def note_loop(server: TurnServer, counter: int) -> bool:
            made.note_loop(asyncio.get_running_loop())
            return await on_tick(server, counter)

        patch.setattr(TurnServer, "on_tick", note_loop)
        yield made


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, heartbeat: Heartbeat
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("long")
    limits = ServeTask(max_body=2_000_000, max_characters=2_000_000)
    with serve(folder, "generator=direct", limits=limits, live=True) as running:
        thresholds = gc.get_threshold()
        gc.collect()
        gc.freeze()  # as `run_server` does: a collection of everything takes a tenth of a second
        gc.set_threshold(YOUNG_OBJECTS)
        yield running
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def let_generate(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    """Let the generator give a text, and stream it in pieces of a size; 0 for the whole."""

    def generate(*_: object) -> Answer:
        listener = current_listener()
        if listener:
            for start in range(0, len(text), size or len(text)):
                listener(text[start : start + (size or len(text))])
        return Answer(text)

    monkeypatch.setattr(DirectGenerator, "generate", generate)


def post(server: RunningServer, path: str, body: Any, timeout: float = 200) -> bytes:
    """Post JSON, and return the whole reply, which nobody parses meanwhile."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    received = bytearray()
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        connection.sendall(head.encode() + content)
        until = time.monotonic() + timeout
        while part := connection.recv(1 << 20):
            received += part
            assert time.monotonic() < until, "the reply takes too long"
    return bytes(received)


def ask(server: RunningServer, kind: str) -> bytes:
    path, body = REQUESTS[kind]
    if "{id}" in path:
        id = server.http.post("/api/conversations", json={}).json()["id"]
        path = path.format(id=id)
    return post(server, path, body)


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("reply", ["open code", "marks"])
def test_a_long_reply_does_not_stall_the_loop(
    server: RunningServer,
    heartbeat: Heartbeat,
    monkeypatch: pytest.MonkeyPatch,
    reply: str,
    kind: str,
) -> None:
    let_generate(monkeypatch, REPLIES[reply], 0)
    with heartbeat.beat():
        received = ask(server, kind)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert len(received) > len(REPLIES[reply])
    assert heartbeat.beats > 10
    assert heartbeat.longest < LONGEST_GAP


@pytest.mark.slow
@pytest.mark.parametrize("reply", ["open code", "marks"])
def test_a_long_reply_in_small_pieces_does_not_stall_the_loop(
    server: RunningServer,
    heartbeat: Heartbeat,
    monkeypatch: pytest.MonkeyPatch,
    reply: str,
) -> None:
    let_generate(monkeypatch, REPLIES[reply], 4)
    with heartbeat.beat():
        received = ask(server, "streamed completion")
    assert received.startswith(b"HTTP/1.1 200 ")
    assert len(received) > len(REPLIES[reply])
    assert heartbeat.longest < LONGEST_GAP


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_is_cited_in_time_proportional_to_its_length(reply: str) -> None:
    check_time_to_cite(REPLIES[reply], LENGTH + 1000)
    check_time_to_cite(REPLIES[reply][:500_000], 4)


def check_time_to_cite(text: str, size: int) -> None:
    cited = CitedReply(lambda domain, passage: f"http://h/{domain}/{passage}")
    started = time.thread_time()
    length = 0
    for start in range(0, len(text), size):
        length += len(cited.add(text[start : start + size]))
    length += len(cited.add("", last=True))
    assert length > len(text) // 2
    assert time.thread_time() - started < 10  # minutes, if it were quadratic


def test_annotations_are_bounded(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    let_generate(monkeypatch, "[1] " * 300_000, 0)
    received = ask(server, "completion")
    assert len(received) < 2_000_000
    body = json.loads(received.partition(b"\r\n\r\n")[2])
    annotations = body["choices"][0]["message"]["annotations"]
    assert 100 < len(annotations) <= 1001
    assert annotations[0]["url_citation"]["start_index"] == 0


def test_a_streamed_reply_has_the_text_of_a_whole_one(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_generate(monkeypatch, REPLIES["code"][:300_000] + "\n``` é \U0001f319 [1].", 70_000)
    whole = json.loads(ask(server, "completion").partition(b"\r\n\r\n")[2])
    content = whole["choices"][0]["message"]["content"]
    streamed = ask(server, "streamed completion")
    chunks = [json.loads(each) for each in re.findall(rb"^data: (\{.*)$", streamed, re.MULTILINE)]
    pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert "".join(pieces) == content
    assert max(map(len, pieces)) <= 65_536


HOSTILE_BODIES = {
    "invalid messages": ("/v1/chat/completions", b'{"messages": [' + b"0," * 450_000 + b"0]}"),
    "invalid items": ("/v1/responses", b'{"input": [' + b"0," * 450_000 + b"0]}"),
    "invalid parts": (
        "/v1/chat/completions",
        b'{"messages": [{"role": "user", "content": [' + b"0," * 450_000 + b"0]}]}",
    ),
    "files": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "### Task:\n" + "<context>" * 10_000}]},
    ),
    "thoughts": (
        "/v1/chat/completions",
        {
            "messages": [
                QUESTION,
                {"role": "assistant", "content": "</think>" * 110_000},
                QUESTION,
            ]
        },
    ),
    "answers": (
        "/v1/chat/completions",
        {
            "messages": [QUESTION]
            + [{"role": "assistant", "content": "a" * 500}] * 1700
            + [QUESTION]
        },
    ),
    "title": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "Generate a title " * 5_000}]},
    ),
    "feedback": (
        "/api/conversations/x/turns/1/feedback",
        b'{"wrong": [' + b"0," * 450_000 + b"0]}",
    ),
    "tools": (
        "/v1/responses",
        b'{"input": "moon", "tools": [' + b"0," * 450_000 + b"0]}",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE_BODIES)
def test_a_hostile_body_does_not_stall_the_loop(
    server: RunningServer, heartbeat: Heartbeat, kind: str
) -> None:
    path, body = HOSTILE_BODIES[kind]
    with heartbeat.beat():
        received = post(server, path, body)
    assert re.match(rb"HTTP/1.1 (200|400|404) ", received), received[:500]
    assert heartbeat.longest < 2 * LONGEST_GAP  # the parsers of JSON and requests are one call
    assert len(received) < 100_000
