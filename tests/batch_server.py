"""A test server on loopback for OpenAI's batch protocol: files, batches, and the files with their replies."""

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llm_server import make_reply


class BatchServer:
    """Ends each batch when it is looked at `looks` times. `paid` counts the lines of all batches, by their last words.

    A line whose last message holds a key of `faults` ends as its list says, one by one: "fail" (the server's error),
    "expire" (no reply), "refuse" (an error that stays); then it is answered. `refused` is why batches are refused.
    While it is `down`, it answers nothing but 503.
    """

    def __init__(self, looks: int = 2) -> None:
        self.looks = looks
        self.paid: Counter[str] = Counter()
        self.faults: dict[str, list[str]] = {}
        self.refused = ""
        self.down = False
        self.batches: list[dict[str, Any]] = []
        self.direct = 0
        self.keys: set[str] = set()
        self._files: dict[str, bytes] = {}
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(b"")

            def do_POST(self) -> None:
                self._answer(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, body: bytes) -> None:
                with outer._lock:
                    outer.keys.add(self.headers.get("authorization", ""))
                    data = outer.take(self.path.removeprefix("/v1"), body)
                self.send_response(503 if outer.down else 404 if data is None else 200)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> bytes | None:
        """The response to a request; None for what is not there."""
        if path == "/chat/completions":
            self.direct += 1
            return json.dumps(make_reply("Direct.")).encode()
        if path == "/files":
            content = re.search(rb"filename=.*?\r\n\r\n(.*?)\r\n--", body, re.DOTALL)
            assert content is not None
            return self._describe_file(content[1])
        if path == "/batches":
            asked = json.loads(body)
            assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
            batch = {
                "id": f"batch_{len(self.batches)}",
                "status": "validating",
                "input": asked["input_file_id"],
                "looked": 0,
            }
            self.batches.append(batch)
            return json.dumps(batch).encode()
        kind, name, *_ = path.strip("/").split("/")
        if kind == "files":
            return self._files.get(name)
        batch = next((each for each in self.batches if each["id"] == name), {})
        return json.dumps(self._look(batch)).encode() if batch else None

    def _describe_file(self, content: bytes) -> bytes:
        name = f"file-{len(self._files)}"
        self._files[name] = content
        return json.dumps({"id": name, "object": "file"}).encode()

    def _look(self, batch: dict[str, Any]) -> dict[str, Any]:
        batch["looked"] += 1
        if batch["looked"] < self.looks or batch["status"] in ("completed", "expired", "failed"):
            return batch
        if self.refused:
            return batch | {"status": "failed", "errors": {"data": [{"message": self.refused}]}}
        replies, errors, expired = [], [], False
        for line in map(json.loads, self._files[batch["input"]].splitlines()):
            said = line["body"]["messages"][-1]["content"]
            self.paid[said] += 1
            fault = next((plan.pop(0) for key, plan in self.faults.items() if key in said and plan), "")
            row = {"custom_id": line["custom_id"], "error": None}
            if fault == "expire":
                expired = True
            elif fault:
                status = 500 if fault == "fail" else 400
                response = {"status_code": status, "body": {"error": {"message": f"status {status} of a line"}}}
                errors.append(row | {"response": response})
            else:
                replies.append(
                    row | {"response": {"status_code": 200, "body": make_reply(f"Yes, {len(said)} letters.")}}
                )
        for name, rows in (("output_file_id", replies), ("error_file_id", errors)):
            if rows:
                content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
                batch[name] = json.loads(self._describe_file(content))["id"]
        batch["status"] = "expired" if expired else "completed"
        return batch
