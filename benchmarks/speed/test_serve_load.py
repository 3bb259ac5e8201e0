"""task=serve under load: 64 conversations, idle connections, too many questions.

The server and the LLM are processes of their own; the clients of this one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("litellm")


from delayed_llm import delayed_llm
from served import ServeCommand, serve_command

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Item 'summary' on TypedDict:UserWarning"),  # litellm's own
    pytest.mark.filterwarnings(
        "ignore:Accessing the .* attribute on the instance is deprecated"
    ),  # litellm's own
]

AT_ONCE = 64
SECONDS = 1.0
ROUNDS = 10
IDLE = 500

numbers = count()


@pytest.fixture(scope="module")
def llm() -> Iterator[str]:
    """The address of a language model that takes a second for each reply."""
    with delayed_llm(SECONDS) as address:
        yield address


@pytest.fixture
def server(llm: str, tmp_path: Path) -> Iterator[ServeCommand]:
    model = ["llm=litellm", "llm.model=openai/m", f"llm.api_base={llm}", "llm.retries=0"]
    with serve_command(tmp_path, "generator=direct", "rewriter=none", *model) as command:
        yield command


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


class Connection:
    """A connection to the server that costs this process next to nothing."""

    @classmethod
    async def open(cls, address: str) -> Connection:
        host, port = address.removeprefix("http://").split(":")
        connection = cls()
        connection._host = host
        connection._reader, connection._writer = await asyncio.open_connection(
            host, int(port), limit=1 << 24
        )
        return connection

    async def post(self, path: str, body: object) -> tuple[int, bytes]:
        """The status and the body of the reply, with the sizes of its chunks where it has chunks."""
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        headers = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", headers)
        read = (
            self._reader.readexactly(int(length[1]))
            if length
            else self._reader.readuntil(b"\r\n0\r\n\r\n")
        )
        return int(headers.split()[1]), await read

    def close(self) -> None:
        self._writer.close()


async def talk(connection: Connection, rounds: int, *, kept: bool) -> None:
    """A conversation of so many questions, over the API that keeps it or over OpenAI's protocol."""
    id = json.loads((await connection.post("/api/conversations", {}))[1])["id"] if kept else ""
    for _ in range(rounds):
        text = f"What is crater {next(numbers)} of the Moon?"
        if kept:
            status, reply = await connection.post(
                f"/api/conversations/{id}/turns", {"question": text}
            )
            assert b"event: record" in reply
        else:
            message = {"role": "user", "content": text}
            status, reply = await connection.post("/v1/chat/completions", {"messages": [message]})
        assert status == 200, reply


async def talk_at_once(address: str, rounds: int, *, kept: bool) -> float:
    connections = [await Connection.open(address) for _ in range(AT_ONCE)]
    started = time.perf_counter()
    await asyncio.gather(*(talk(connection, rounds, kept=kept) for connection in connections))
    seconds = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return seconds


@pytest.mark.parametrize("kept", [False, True], ids=["openai", "conversations"])
def test_64_conversations_reach_90_percent_of_the_ideal(tmp_path: Path, kept: bool) -> None:
    """With a model in the server's process: what is measured is the server with its pipeline."""
    plugin = Path(__file__).with_name("thinking_llm.py")
    with serve_command(
        tmp_path, "generator=direct", "rewriter=none", f"plugins=[{plugin}]", "llm=thinking"
    ) as server:
        assert measure_share(server, kept=kept) >= 0.9


@pytest.mark.parametrize("kept", [False, True], ids=["openai", "conversations"])
def test_64_conversations_through_litellm(server: ServeCommand, llm: str, kept: bool) -> None:
    """With a model behind litellm, beside what its bare calls reach on this machine."""
    bare = measure_bare_litellm(llm, stream=kept)
    sys.stdout.write(f"\nbare litellm from {AT_ONCE} threads: {bare:.1%} of the ideal\n")
    share = measure_share(server, kept=kept)
    sys.stdout.write(f"that is {share / bare:.1%} of what bare litellm reaches\n")
    assert share >= 0.9


def measure_share(server: ServeCommand, *, kept: bool) -> float:
    """Measure the share of the ideal that 64 conversations at once reach."""
    asyncio.run(
        talk_at_once(server.address, 1, kept=kept)
    )  # connections, threads and litellm's own first call
    before = processor_seconds(server.process.pid)
    shares = [
        ROUNDS * SECONDS / asyncio.run(talk_at_once(server.address, ROUNDS, kept=kept))
        for _ in range(3)
    ]
    spent = (processor_seconds(server.process.pid) - before) / (3 * ROUNDS * AT_ONCE)
    sys.stdout.write(
        f"\n{AT_ONCE} conversations at once: {statistics.median(shares):.1%} of the ideal ({shares}), "
        f"{1000 * spent:.1f} ms of the processor for a turn\n"
    )
    return statistics.median(shares)


def measure_bare_litellm(address: str, *, stream: bool) -> float:
    """Measure the share of the ideal that as many threads reach with litellm alone."""
    import litellm

    def talk(_: int) -> None:
        for _ in range(ROUNDS):
            message = {"role": "user", "content": f"What is crater {next(numbers)} of the Moon?"}
            reply = litellm.completion(
                "openai/m", [message], api_base=address, api_key="k", stream=stream, max_retries=0
            )
            for _ in reply if stream else ():
                pass

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(talk, range(AT_ONCE)))
        started = time.perf_counter()
        list(pool.map(talk, range(AT_ONCE)))
    return ROUNDS * SECONDS / (time.perf_counter() - started)


def test_500_idle_conversations_and_connections_cost_nothing(server: ServeCommand) -> None:
    process = server.process.pid
    host, port = server.address.removeprefix("http://").split(":")

    async def begin(number: int) -> None:
        async with httpx.AsyncClient(base_url=server.address, timeout=60) as client:
            for _ in range(number):
                (await client.post("/api/conversations", json={})).raise_for_status()

    asyncio.run(begin(20))
    bare_seconds, bare_megabytes = measure_idle(process)
    asyncio.run(begin(IDLE))
    connections = [socket.create_connection((host, int(port))) for _ in range(IDLE)]
    for connection in connections:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        connection.recv(65536)
    seconds, megabytes = measure_idle(process)
    for connection in connections:
        connection.close()
    sys.stdout.write(
        f"\n{IDLE} idle: {seconds:.3f} processor seconds in 5 s (without: {bare_seconds:.3f}), "
        f"{megabytes - bare_megabytes:.1f} MB more\n"
    )
    assert seconds - bare_seconds < 0.05
    assert megabytes - bare_megabytes < 30


def measure_idle(process: int) -> tuple[float, float]:
    """Processor seconds of five idle seconds, and the megabytes that it holds."""
    before = processor_seconds(process)
    time.sleep(5)
    return processor_seconds(process) - before, resident_megabytes(process)


def test_overload_is_answered_at_once(llm: str, tmp_path: Path) -> None:
    model = ["llm=litellm", "llm.model=openai/m", f"llm.api_base={llm}", "llm.retries=0"]
    limits = ["task.workers=8", "task.queue=8"]
    with serve_command(tmp_path, "generator=direct", "rewriter=none", *model, *limits) as command:

        async def ask_all() -> list[tuple[int, float]]:
            async with httpx.AsyncClient(base_url=command.address, timeout=60) as client:

                async def ask(number: int) -> tuple[int, float]:
                    started = time.perf_counter()
                    body = {
                        "messages": [
                            {"role": "user", "content": f"What is crater {next(numbers)}?"}
                        ]
                    }
                    reply = await client.post("/v1/chat/completions", json=body)
                    return reply.status_code, time.perf_counter() - started

                await ask(0)
                return await asyncio.gather(*(ask(number) for number in range(100)))

        replies = asyncio.run(ask_all())
    refused = [seconds for status, seconds in replies if status == 503]
    sys.stdout.write(
        f"\n100 questions for 16 places: {len(refused)} refused, the slowest after {max(refused):.2f} s\n"
    )
    assert {status for status, _ in replies} == {200, 503}
    assert 50 <= len(refused) <= 84  # some come when an earlier one has ended
