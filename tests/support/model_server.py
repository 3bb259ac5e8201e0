"""A test server on loopback for embeddings and rerankers.

It embeds a text as the counts of its letters, and scores a text by the words that it shares with
the query.
"""

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from struct import pack
from typing import Any

Reply = tuple[int, Any, dict[str, str]]
"""Status, body (JSON, or a text as it is) and headers."""


def embed_text(text: str) -> list[float]:
    """The counts of the letters a to z, and one number that is never zero."""
    return [float(text.lower().count(chr(letter))) for letter in range(97, 123)] + [0.1]


def score_text(query: str, text: str) -> float:
    return float(len(set(query.lower().split()) & set(text.lower().split())))


def make_error(status: int, message: str, **headers: str) -> Reply:
    return status, {"error": {"message": message}}, headers


@dataclass
class ModelServer:
    """Records its requests; replies that are planned come first, each once.

    Args:
        most_texts: more texts in a request are refused, as TEI does.
        most_words: a text with more words is refused.
        form: of /rerank: cohere, tei or voyage; it is at the root where `rerank_path` says so.
        base64: whether vectors come in base64 where the request asks for it.
        edit: changes a correct reply.
        delay: seconds before each reply.
    """

    most_texts: int = 10_000
    most_words: int = 10_000
    form: str = "cohere"
    rerank_path: str = "/v1/rerank"
    base64: bool = True
    edit: Callable[[Any], Any] = lambda reply: reply
    delay: float = 0.0
    planned: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    """The texts whose vectors were sent."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(self))
        self._http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._http.server_port}"
        self.address = f"{self.root}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Reply:
        time.sleep(self.delay)
        with self._lock:
            self.requests.append(body)
            self.paths.append(path)
            self.headers.append(headers)
            if self.planned:
                return self.planned.pop(0)
        if path == "/v1/embeddings":
            return self._embed(body)
        if path == "/v1/embed":
            return self._embed_for_cohere(body)
        if path == self.rerank_path:
            return self._rerank(body)
        return 404, {"detail": "Not Found"}, {}

    def _refuse(self, texts: list[str]) -> Reply | None:
        if len(texts) > self.most_texts:
            text = f"batch size {len(texts)} > maximum allowed batch size {self.most_texts}"
            return 422, {"error": text, "error_type": "Validation"}, {}
        words = max((len(text.split()) for text in texts), default=0)
        if words > self.most_words:
            message = (
                f"This model's maximum context length is {self.most_words} tokens. However, you "
                f"requested {words} tokens."
            )
            return make_error(400, message)
        return None

    def _embed(self, body: dict[str, Any]) -> Reply:
        texts = body["input"]
        refused = self._refuse(texts)
        if refused:
            return refused
        rows = []
        for index, text in enumerate(texts):
            vector: Any = embed_text(text)[: body.get("dimensions")]
            if self.base64 and body.get("encoding_format") == "base64":
                vector = b64encode(pack(f"<{len(vector)}f", *vector)).decode()
            rows.append({"object": "embedding", "index": index, "embedding": vector})
        with self._lock:
            self.embedded += texts
        rows.reverse()  # the order is that of the indices
        usage = {"prompt_tokens": 10 * len(texts), "total_tokens": 10 * len(texts)}
        return 200, self.edit({"object": "list", "data": rows, "usage": usage}), {}

    def _embed_for_cohere(self, body: dict[str, Any]) -> Reply:
        rows = [embed_text(text) for text in body["texts"]]
        meta = {"billed_units": {"input_tokens": 10 * len(rows)}}
        return 200, {"id": "1", "embeddings": {"float": rows}, "meta": meta}, {}

    def _rerank(self, body: dict[str, Any]) -> Reply:
        name = "texts" if self.form == "tei" else "documents"
        if name not in body:
            return 422, f"Failed to deserialize the JSON body: missing field `{name}`", {}
        if self.form == "voyage" and "top_n" in body:
            return 400, {"detail": "Argument 'top_n' is not supported by our API"}, {}
        refused = self._refuse(body[name])
        if refused:
            return refused
        score_name = "score" if self.form == "tei" else "relevance_score"
        rows = [
            {"index": index, score_name: score_text(body["query"], text)}
            for index, text in enumerate(body[name])
        ]
        rows.sort(key=lambda row: -row[score_name])
        if self.form == "tei":
            return 200, self.edit(rows), {}
        rows_name = "data" if self.form == "voyage" else "results"
        return 200, self.edit({"id": "1", rows_name: rows, "usage": {"total_tokens": 7}}), {}


def _make_handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, reply, more = server.answer(self.path, body, headers)
            data = reply.encode() if isinstance(reply, str) else json.dumps(reply).encode()
            self.send_response(status)
            for name, value in {"content-length": str(len(data)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
