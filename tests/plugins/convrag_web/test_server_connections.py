"""Limits of connections: what a client may send before the token is asked for, and how long it may
wait. All over real sockets.
"""

import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from convrag_web.server import connections
from convrag_web.server.connections import ConnectionLimits, choose_limits, raise_file_limit
from convrag_web.server.guard import Access
from served import RunningServer, serve, serve_command

TOKEN = "a-token-of-this-test"
LIMITS = ConnectionLimits(head_seconds=1.0, write_seconds=2.0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("connections")
    access = Access(token=TOKEN, hosts=["127.0.0.1"])
    with serve(folder, access=access, live=True, connections=LIMITS) as running:
        yield running


def connect(server: RunningServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def begin(server: RunningServer, target: str = "/healthz", method: str = "GET") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def send_slowly(connection: socket.socket, sent: bytes) -> None:
    """Send bytes one by one, and check that the server closes the connection meanwhile."""
    try:
        for byte in sent:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    except (ConnectionResetError, BrokenPipeError):
        return
    raise AssertionError("the server waited for its client")


def send_until_left(connection: socket.socket, requests: bytes) -> None:
    """Send requests until the server leaves; one that waits is a TimeoutError."""
    try:
        while True:
            connection.sendall(requests)
    except (ConnectionResetError, BrokenPipeError):
        return


def list_statuses(received: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d{3}) ", received)]


def exchange(server: RunningServer, *sent: bytes) -> bytes:
    """Send bytes, and read until the server closes the connection."""
    with connect(server) as connection:
        try:
            for each in sent:
                connection.sendall(each)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return read_all(connection)


def fields(count: int, size: int = 1) -> bytes:
    return b"".join(b"X%d: %s\r\n" % (number, b"b" * size) for number in range(count))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (fields(98), 401),
        (fields(101), 431),
        (fields(3, 20_000), 401),
        (fields(4, 20_000), 431),
        (b"X: " + b"b" * 66_000 + b"\r\n", 431),
        (b"b" * 66_000 + b": x\r\n", 431),
    ],
)
def test_header_fields_are_bounded(server: RunningServer, head: bytes, status: int) -> None:
    end = b"Connection: close\r\n\r\n"
    received = exchange(server, begin(server, "/v1/models"), head, end)
    assert list_statuses(received) in ([status], [])  # a reset may overtake a refusal
    if status == 401:
        assert list_statuses(received) == [401]


def test_a_refusal_is_an_error_object(server: RunningServer) -> None:
    received = exchange(server, begin(server) + fields(101))
    assert list_statuses(received) == [431]
    assert b'"code": "header_too_large"' in received
    assert b"\r\nconnection: close\r\n" in received.lower()
    assert b"Content-Security-Policy" in received


@pytest.mark.parametrize(("length", "status"), [(8000, 401), (8300, 414), (100_000, 414)])
def test_the_url_is_bounded(server: RunningServer, length: int, status: int) -> None:
    head = begin(server, "/v1/models?" + "a" * length)
    received = exchange(server, head, b"Connection: close\r\n\r\n")
    assert list_statuses(received) in ([status], [])
    if status == 401:
        assert list_statuses(received) == [401]


def test_a_request_that_is_no_http_gets_an_error_object(server: RunningServer) -> None:
    received = exchange(server, b"GARBAGE\r\n\r\n")
    assert list_statuses(received) == [400]
    assert b'"code": "invalid_http"' in received


def test_trailers_do_not_become_headers(tmp_path: Path) -> None:
    seen: list[list[tuple[bytes, bytes]]] = []
    with serve(tmp_path, live=True, connections=LIMITS) as server:
        noting = _NotingHeaders(server, seen)
        head = begin(server, "/v1/chat/completions", "POST")
        head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        body = b"2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\nX-Trailer: y\r\n\r\n"
        with noting, connect(server) as connection:
            connection.sendall(head + body)
            assert list_statuses(connection.recv(65536)) == [400]
    names = {name for headers in seen for name, _ in headers}
    assert b"content-type" in names
    assert not names & {b"authorization", b"x-trailer"}


class _NotingHeaders:
    """Notes the headers of each request at its end."""

    def __init__(self, server: RunningServer, seen: list[list[tuple[bytes, bytes]]]) -> None:
        from convrag_web.server.guard import Guard

        self._patch = pytest.MonkeyPatch()
        original = Guard._read_body

        async def read_body(guard: Guard, scope: Any, receive: Any) -> bytes | None:
            body = await original(guard, scope, receive)
            seen.append(scope["headers"])
            return body

        self._patch.setattr(Guard, "_read_body", read_body)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


def test_trailers_are_bounded(server: RunningServer) -> None:
    head = begin(server, "/healthz", "POST") + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    assert list_statuses(exchange(server, head + fields(101))) in ([431], [405], [])
    endless = b"X: " + b"b" * 1_000_000
    assert list_statuses(exchange(server, head, *[endless] * 20)) in ([431], [405], [])


def read_memory(process: int) -> float:
    """The resident memory of a process, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert match
    return int(match[1]) / 1024


def swell(server_port: int, kind: str) -> None:
    """Send 10 MB of what is not bounded by itself, or less if the server closes."""
    head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server_port}\r\n".encode()
    parts = {
        "fields": (head, fields(1000)),
        "value": (head + b"X: ", b"b" * 10_000),
        "url": (b"GET /", b"a" * 10_000),
        "trailers": (
            head.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            fields(1000),
        ),
        "pipelined": (b"", (head + b"\r\n") * 150),
    }
    first, further = parts[kind]
    with socket.create_connection(("127.0.0.1", server_port), timeout=30) as connection:
        try:
            connection.sendall(first)
            for _ in range(10_000_000 // len(further)):
                connection.sendall(further)
        except OSError:
            pass


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read in /proc")
@pytest.mark.parametrize("kind", ["fields", "value", "url", "trailers", "pipelined"])
def test_memory_is_flat_under_clients_that_send_without_end(command_server: Any, kind: str) -> None:
    port = int(command_server.address.rpartition(":")[2])
    process = command_server.process.pid
    swell(port, kind)  # what the first one takes, later ones take again
    before = read_memory(process)
    clients = [threading.Thread(target=swell, args=(port, kind)) for _ in range(20)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(120)
    assert read_memory(process) - before < 40


@pytest.fixture(scope="module")
def command_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serve_command(tmp_path_factory.mktemp("command")) as running:
        yield running


@pytest.mark.parametrize("sent", [b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: a\r\n", b"\r\n"])
def test_a_head_that_does_not_come_is_given_up(server: RunningServer, sent: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        started = time.monotonic()
        assert read_all(connection) == b""
        assert 0.5 < time.monotonic() - started < 20


def test_a_head_that_comes_byte_by_byte_is_given_up(server: RunningServer) -> None:
    with connect(server) as connection:
        started = time.monotonic()
        send_slowly(connection, begin(server) + b"X: " + b"b" * 1000)
        assert time.monotonic() - started < 20


def test_a_second_head_that_does_not_come_is_given_up(server: RunningServer) -> None:
    with connect(server) as connection:
        connection.sendall(begin(server) + b"\r\n")
        assert list_statuses(connection.recv(65536)) == [200]
        time.sleep(1.5)  # between two requests a connection may wait for longer
        connection.sendall(begin(server) + b"\r\n")
        assert list_statuses(connection.recv(65536)) == [200]
        connection.sendall(b"GET /heal")
        assert read_all(connection) == b""


def test_a_body_that_does_not_come_after_the_reply_is_given_up(server: RunningServer) -> None:
    head = begin(server, "/v1/chat/completions", "POST") + b"Content-Length: 1000000\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(head)
        assert list_statuses(connection.recv(65536)) == [401]
        send_slowly(connection, b"{" * 400)


def test_a_client_that_takes_nothing_is_left(tmp_path: Path) -> None:
    with serve(tmp_path, live=True, connections=LIMITS) as server, connect(server) as connection:
        connection.settimeout(20)
        requests = (begin(server, "/openapi.json") + b"\r\n") * 10
        send_until_left(connection, requests)
        assert server.http.get("/healthz").status_code == 200


def test_too_many_connections_are_refused_and_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "_last_full_log", -1e9)
    limits = ConnectionLimits(connections=10, head_seconds=2.0)
    caplog.set_level(logging.WARNING, "convrag.serve")
    with serve(tmp_path, live=True, connections=limits) as server, ExitStack() as stack:
        silent = [stack.enter_context(connect(server)) for _ in range(30)]
        refused = [read_all(each) for each in silent[10:]]
        assert [list_statuses(each) for each in refused] == [[503]] * 20
        assert all(b"retry-after: 5" in each.lower() for each in refused)
        for each in silent[:10]:
            assert read_all(each) == b""
        assert server.http.get("/healthz").status_code == 200
    lines = [
        record.message for record in caplog.records if "connections are open" in record.message
    ]
    assert len(lines) == 1
    assert "ulimit -n" in lines[0]


def test_a_full_server_closes_connections_between_two_requests(tmp_path: Path) -> None:
    limits = ConnectionLimits(connections=4, head_seconds=60.0)
    with serve(tmp_path, live=True, connections=limits) as server, ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(4)]
        for each in idle:
            each.sendall(begin(server) + b"\r\n")
            assert list_statuses(each.recv(65536)) == [200]
        for each in idle:
            assert read_all(each) == b""
        assert server.http.get("/healthz").status_code == 200


def test_the_limit_of_files_is_raised_and_bounds_the_connections() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 2048:
        pytest.skip("this process may open few files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    try:
        assert raise_file_limit() > 1024
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 1024
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert choose_limits(1024).connections == 512
    assert choose_limits(256).connections == 128
    assert choose_limits(100_000).connections == ConnectionLimits().connections


def test_clients_that_vanish_with_pipelined_requests_leave_no_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    with serve(tmp_path, live=True, connections=LIMITS) as server:
        for path in ("/healthz", "/openapi.json", "/v1/models", "/api/conversations"):
            for count in (2, 5, 40):
                for _ in range(5):
                    with connect(server) as connection:
                        connection.setsockopt(
                            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                        )
                        connection.sendall((begin(server, path) + b"\r\n") * count)
        time.sleep(0.5)
        assert server.http.get("/healthz").status_code == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "Traceback" not in capfd.readouterr().err


def test_pipelined_requests_are_answered_in_order(server: RunningServer) -> None:
    last = begin(server, "/nowhere") + b"Connection: close\r\n\r\n"
    pipelined = (begin(server) + b"\r\n" + begin(server, "/v1/models") + b"\r\n") * 4
    assert list_statuses(exchange(server, pipelined + last)) == [200, 401] * 4 + [401]
