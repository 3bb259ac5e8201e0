"""A test server on loopback for the OpenAI chat protocol, and for enough of Anthropic's and
Ollama's.

It gives the planned replies and faults in turn, the last one for ever.
"""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def make_reply(
    text: str | None = "A dog.", finish: str | None = "stop", **usage: Any
) -> dict[str, Any]:
    """The body of a correct reply."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-name",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, **usage},
    }


@dataclass(frozen=True)
class Step:
    """What the server does with one request.

    `body` is JSON (a dict) or raw bytes. `sent_bytes` is how much of it is sent before the
    connection closes; `byte_delay` and `header_byte_delay` are the seconds before each byte of the
    body and of the headers. With `reset` the connection is reset. A streamed reply is sent in
    pieces of a word; `pieces` is how many are sent before the connection closes without the end of
    the stream. `events` is a streamed reply as its raw bytes, in parts that are sent one by one; of
    an endless one, the last part is sent until the client goes away. `silence` is the seconds
    before it answers at all.
    """

    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    sent_bytes: int | None = None
    byte_delay: float = 0.0
    header_byte_delay: float = 0.0
    reset: bool = False
    pieces: int | None = None
    chunked: bool = True
    silence: float = 0.0
    events: Iterable[bytes] | None = None
    endless: bool = False


def make_error(
    status: int, message: str = "no", headers: dict[str, str] | None = None, **error: str
) -> Step:
    """An error in the OpenAI protocol."""
    return Step(status, {"error": {"message": message, **error}}, tuple((headers or {}).items()))


class _HttpServer(ThreadingHTTPServer):
    """A server with a long queue of connections; the default refuses the sixth."""

    request_queue_size = 256

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End the connections that clients keep open: they would be answered for ever."""
        with self._lock:
            open_now = tuple(self._connections)
        for connection in open_now:
            with contextlib.suppress(OSError):  # the client has gone, or the handler has closed it
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away in mid-reply."""


class Server:
    """Records its requests and when they came; `max_concurrent` is the most that were in flight at a time.

    `option` names the option that llm_client.py makes a client of; it listens on `host` and `port`.
    """

    def __init__(self, option: str = "litellm", host: str = "127.0.0.1", port: int = 0) -> None:
        self.option = option
        self.plan: list[Step] = [Step(body=make_reply())]
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.times: list[float] = []
        self.delay = 0.0
        self.max_concurrent = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._http = _HttpServer((host, port), _handler(self))
        self._http.daemon_threads = True
        self.port = self._http.server_port
        self.address = f"http://{host}:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def plan_replies(self, *plan: Any) -> None:
        """Give these replies from now on; each is a Step, or the body of a correct reply."""
        self.plan = [step if isinstance(step, Step) else Step(body=step) for step in plan]
        self.requests.clear()

    def stop_listening(self) -> None:
        """Take no more connections and end those there are: from now on nothing answers."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        self._http.close_connections()

    def close(self) -> None:
        self.stop_listening()

    def begin_request(self, body: dict[str, Any], path: str, key: str) -> Step:
        with self._lock:
            step = self.plan[min(len(self.requests), len(self.plan) - 1)]
            self.requests.append(body)
            self.paths.append(path)
            self.keys.append(key)
            self.times.append(time.monotonic())
            self._in_flight += 1
            self.max_concurrent = max(self.max_concurrent, self._in_flight)
        return step

    def end_request(self) -> None:
        with self._lock:
            self._in_flight -= 1


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = (
            True  # else a body waits 40 ms for the client to acknowledge the headers
        )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            key = (
                self.headers["authorization"]
                or self.headers["x-api-key"]
                or self.headers["api-key"]
                or ""
            )
            step = server.begin_request(body, self.path, key)
            try:
                time.sleep(server.delay + step.silence)
                self.send_reply(step, body)
            except OSError:
                self.close_connection = True  # the client went away
            finally:
                server.end_request()

        def send_reply(self, step: Step, body: dict[str, Any]) -> None:
            if step.reset:
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.connection.close()
                self.close_connection = True
            elif step.events is not None:
                self.send_events(step.events, step)
            elif body.get("stream") and step.status == 200 and isinstance(step.body, dict):
                self.send_stream(step)
            else:
                self.send_whole(step)

        def send_whole(self, step: Step) -> None:
            translated = _translate_reply(step.body, self.path) if step.status == 200 else step.body
            data = translated if isinstance(translated, bytes) else json.dumps(translated).encode()
            headers = {
                "content-type": "application/json",
                "content-length": str(len(data)),
                **dict(step.headers),
            }
            lines = [
                f"HTTP/1.1 {step.status} Whatever",
                *(f"{name}: {value}" for name, value in headers.items()),
                "",
                "",
            ]
            self.send_bytes("\r\n".join(lines).encode(), step.header_byte_delay)
            self.send_bytes(data[: step.sent_bytes], step.byte_delay)
            self.close_connection = step.sent_bytes is not None

        def send_bytes(self, data: bytes, delay: float) -> None:
            if not delay:
                self.wfile.write(data)
                return
            for byte in data:
                time.sleep(delay)
                self.wfile.write(bytes([byte]))

        def send_events(self, events: Iterable[bytes], step: Step) -> None:
            lines = [
                "HTTP/1.1 200 OK",
                "content-type: text/event-stream",
                "connection: close",
                "",
                "",
            ]
            self.wfile.write("\r\n".join(lines).encode())
            for event in events:
                time.sleep(step.byte_delay)
                self.wfile.write(event)
            while step.endless:
                time.sleep(step.byte_delay)
                self.wfile.write(event)
            self.close_connection = True

        def send_stream(self, step: Step) -> None:
            text = step.body["choices"][0]["message"]["content"] or ""
            words = [f"{word} " for word in text.split(" ")]
            words[-1] = words[-1][:-1]
            chunks = [_make_chunk({"role": "assistant", "content": word}) for word in words]
            if step.pieces is None:
                finish = _make_chunk({}, step.body["choices"][0]["finish_reason"])
                usage = {**_make_chunk({}), "choices": [], "usage": step.body.get("usage")}
                chunks += [finish, usage] if step.body.get("usage") else [finish]
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
            )
            self.wfile.write(b"transfer-encoding: chunked\r\n\r\n" if step.chunked else b"\r\n")
            for chunk in (
                [*chunks[: step.pieces], None] if step.pieces is None else chunks[: step.pieces]
            ):
                event = (
                    b"data: [DONE]\n\n"
                    if chunk is None
                    else b"data: " + json.dumps(chunk).encode() + b"\n\n"
                )
                time.sleep(step.byte_delay)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event) if step.chunked else event)
            if step.chunked and step.pieces is None:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


def make_event(
    delta: dict[str, Any] | None = None, finish: str | None = None, **fields: Any
) -> bytes:
    """A piece of a streamed reply as it is sent."""
    return b"data: " + json.dumps({**_make_chunk(delta or {}, finish), **fields}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
"""The end of a streamed reply."""


def _make_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served-name",
        "choices": [choice],
    }


def _translate_reply(body: Any, path: str) -> Any:
    """A correct reply in the protocol of the request's path: OpenAI's, Anthropic's or Ollama's."""
    if (
        not path.endswith(("/messages", "/api/chat"))
        or not isinstance(body, dict)
        or not body.get("choices")
    ):
        return body
    text, usage = body["choices"][0]["message"]["content"], body["usage"]
    if path.endswith("/messages"):
        return {
            "id": "1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "output_tokens": usage["completion_tokens"],
            },
        }
    if path.endswith("/api/chat"):
        return {
            "model": "llama3.1",
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": text},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": usage["prompt_tokens"],
            "eval_count": usage["completion_tokens"],
        }
    return body
