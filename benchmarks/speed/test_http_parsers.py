"""Requests per second with uvicorn's parsers of HTTP, and with the bounded one of task=serve.

pytest benchmarks/speed/test_http_parsers.py -n 0 -s
"""

import socket
import sys
import threading
import time
from functools import partial
from statistics import median
from typing import Any

import uvicorn

from convrag_web.server.connections import BoundedProtocol, ConnectionLimits

REQUESTS = 2000
ROUNDS = 7
HEAD = (
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: a client\r\nAccept: */*\r\n"
    b"Authorization: Bearer token\r\nAccept-Encoding: gzip, deflate\r\nX-A: a\r\nX-B: b\r\n\r\n"
)


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request with two bytes."""
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


class Measured:
    """A server with a parser of HTTP, in a thread."""

    def __init__(self, parser: Any) -> None:
        config = uvicorn.Config(answer, http=parser, lifespan="off", log_config=None)
        self._server = uvicorn.Server(config)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def measure(self) -> float:
        """Return the processor's microseconds for a request, the client's included."""
        with socket.create_connection(self._socket.getsockname()) as connection:
            started = time.process_time()
            for _ in range(REQUESTS):
                connection.sendall(HEAD)
                received = b""
                while not received.endswith(b"ok"):
                    received += connection.recv(65536)
            return (time.process_time() - started) / REQUESTS * 1e6

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)


def test_what_a_bound_costs() -> None:
    parsers = {
        "httptools": "httptools",
        "httptools, bounded": partial(BoundedProtocol, ConnectionLimits()),
        "h11": "h11",
    }
    servers = {name: Measured(parser) for name, parser in parsers.items()}
    spent: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(ROUNDS):  # in turn, so that other work on the machine meets all alike
        for name, server in servers.items():
            spent[name].append(server.measure())
    for server in servers.values():
        server.stop()
    for name, values in spent.items():
        sys.stdout.write(f"\n{name:<20} {median(values):6.0f} microseconds a request")
    sys.stdout.write("\n")
    assert median(spent["httptools, bounded"]) < median(spent["h11"])
