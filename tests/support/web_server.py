"""A web on loopback: search engines that answer as their documentation says, and sites."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Reply:
    """What a path of the server answers."""

    body: bytes | str | dict[str, Any] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """A request: its method, its path, its parameters, its headers in lower case, its body."""

    method: str
    path: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: bytes


class WebServer:
    """Answers each path with its replies in turn, the last one for ever; others are not found."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.seen: list[Seen] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.port = self._http.server_port
        self.address = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def plan(self, path: str, *replies: Reply) -> None:
        """Give these replies at a path from now on."""
        self.replies[path] = list(replies)

    def find_reply(self, seen: Seen) -> Reply:
        """Find the reply to a request, and keep the request."""
        self.seen.append(seen)
        planned = self.replies.get(seen.path, [Reply("no such page", 404)])
        return planned.pop(0) if len(planned) > 1 else planned[0]

    def close(self) -> None:
        """End the server."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _handler(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            parts = urlsplit(self.path)
            parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            seen = Seen(self.command, parts.path, parameters, headers, body)
            reply = server.find_reply(seen)
            content = reply.body
            if isinstance(content, dict):
                content = json.dumps(content)
            data = content.encode() if isinstance(content, str) else content
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = answer
        do_POST = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler
