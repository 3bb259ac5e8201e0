"""A test server on loopback for OpenAI's batch protocol (files, batches, files with replies), and
for Anthropic's.
"""

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llm_server import make_reply


class BatchServer:
    """Ends each batch when it is looked at `looks` times. `paid` counts the lines of all batches, by their last words.

    A line whose last message holds a key of `faults` ends as its list says, one by one: "fail" (the
    server's error), "expire" (no reply), "refuse" (an error that stays), "empty" (a reply without
    text, of OpenAI's); then it is answered.
    `refused` is why batches are refused. Anthropic's results are in the reverse order, and
    `results_url` is an address that nobody may ask. While it is `down`, it answers nothing but 503.
    `odd` lists requests that are not carried out, once each: the end of the path, and the status and
    body of the response. `lost` are the kinds of OpenAI's files that are lost once; `damaged` are
    lines, and `odd_results` are results, that a batch has once in place of its first one. The server
    `forgets` so many batches when it is asked for them.
    """

    def __init__(self, looks: int = 2) -> None:
        self.looks = looks
        self.paid: Counter[str] = Counter()
        self.faults: dict[str, list[str]] = {}
        self.refused = ""
        self.down = False
        self.batches: list[dict[str, Any]] = []
        self.odd: list[tuple[str, int, bytes]] = []
        self.lost: list[str] = []
        self.damaged: list[bytes] = []
        self.odd_results: list[bytes] = []
        self.forgets = 0
        self.direct = 0
        self.keys: set[str] = set()
        self.results_url = "http://127.0.0.1:9/results"
        self._files: dict[str, bytes] = {}
        self._made = 0
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
                    outer.keys.add(
                        self.headers.get("authorization") or self.headers.get("x-api-key", "")
                    )
                    assert (
                        "/messages" not in self.path
                        or self.headers["anthropic-version"] == "2023-06-01"
                    )
                    status, data = outer.respond(self.path.removeprefix("/v1"), body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def respond(self, path: str, body: bytes) -> tuple[int, bytes]:
        """The status and the body of the response to a request."""
        for each in self.odd:
            end, status, content = each
            if path.endswith(end):
                self.odd.remove(each)
                return status, content
        data = self.take(path, body)
        if self.down:
            return 503, data or b""
        return (404, b"") if data is None else (200, data)

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
            assert (asked["endpoint"], asked["completion_window"]) == (
                "/v1/chat/completions",
                "24h",
            )
            batch = {
                "id": f"batch_{len(self.batches)}",
                "status": "validating",
                "input": asked["input_file_id"],
                "looked": 0,
            }
            self.batches.append(batch)
            return json.dumps(batch).encode()
        if path.startswith("/messages"):
            return self._take_messages(path, body)
        kind, name, *_ = path.strip("/").split("/")
        if kind == "files":
            return self._files.get(name)
        batch = self._find(name)
        return json.dumps(self._look(batch)).encode() if batch else None

    def _find(self, name: str) -> dict[str, Any]:
        """The batch with an id; an empty one if there is none, or it is forgotten."""
        if self.forgets:
            self.forgets -= 1
            return {}
        return next((each for each in self.batches if each["id"] == name), {})

    def _write_rows(self, rows: list[dict[str, Any]]) -> bytes:
        """The lines of a file of results, with the faults that are planned."""
        if self.odd_results and rows:
            kind = "result" if "result" in rows[0] else "response"
            rows[0][kind] = json.loads(self.odd_results.pop())
        lines = [json.dumps(row).encode() for row in rows]
        if self.damaged and lines:
            lines[0] = self.damaged.pop()
        return b"".join(line + b"\n" for line in lines)

    def _take_messages(self, path: str, body: bytes) -> bytes | None:
        """The response to a request about Anthropic's batches; None for what is not there."""
        if path == "/messages/batches":
            requests = json.loads(body)["requests"]
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each["custom_id"]) for each in requests)
            batch = {
                "id": f"msgbatch_{len(self.batches)}",
                "processing_status": "in_progress",
                "looked": 0,
            }
            self.batches.append(batch | {"requests": requests})
            return json.dumps(batch).encode()
        name, *rest = path.removeprefix("/messages/batches/").split("/")
        batch = self._find(name)
        if not batch or (rest and batch["processing_status"] != "ended"):
            return None
        if rest:
            return self._files[name]
        batch["looked"] += 1
        if batch["looked"] >= self.looks and batch["processing_status"] != "ended":
            rows = [
                {"custom_id": each["custom_id"], "result": self._answer(each["params"])}
                for each in batch["requests"]
            ]
            self._files[name] = self._write_rows(rows[::-1])
            batch |= {"processing_status": "ended", "results_url": self.results_url}
        return json.dumps(
            {name: each for name, each in batch.items() if name != "requests"}
        ).encode()

    def _answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one of Anthropic's requests."""
        assert params["max_tokens"] > 0
        assert "stream" not in params
        assert {message["role"] for message in params["messages"]} <= {"user", "assistant"}
        said = params["messages"][-1]["content"][-1]["text"]
        self.paid[said] += 1
        fault = next((plan.pop(0) for key, plan in self.faults.items() if key in said and plan), "")
        if fault == "expire":
            return {"type": "expired"}
        if fault:
            kind = "overloaded_error" if fault == "fail" else "invalid_request_error"
            error = {"type": kind, "message": f"{fault} of a line"}
            return {"type": "errored", "error": {"type": "error", "error": error}}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": params["model"]}
        usage = {"input_tokens": 7, "output_tokens": 3, "service_tier": "batch"}
        content = [{"type": "text", "text": f"Yes, {len(said)} letters."}]
        return {
            "type": "succeeded",
            "message": message | {"content": content, "stop_reason": "max_tokens", "usage": usage},
        }

    def _describe_file(self, content: bytes) -> bytes:
        self._made += 1
        name = f"file-{self._made}"
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
            fault = next(
                (plan.pop(0) for key, plan in self.faults.items() if key in said and plan), ""
            )
            row = {"custom_id": line["custom_id"], "error": None}
            if fault == "expire":
                expired = True
            elif fault == "empty":
                replies.append(row | {"response": {"status_code": 200, "body": make_reply("")}})
            elif fault:
                status = 500 if fault == "fail" else 400
                response = {
                    "status_code": status,
                    "body": {"error": {"message": f"status {status} of a line"}},
                }
                errors.append(row | {"response": response})
            else:
                replies.append(
                    row
                    | {
                        "response": {
                            "status_code": 200,
                            "body": make_reply(f"Yes, {len(said)} letters."),
                        }
                    }
                )
        for name, rows in (("output_file_id", replies), ("error_file_id", errors)):
            if rows:
                content = self._write_rows(rows)
                batch[name] = json.loads(self._describe_file(content))["id"]
                if name in self.lost:
                    self.lost.remove(name)
                    del self._files[batch[name]]
        batch["status"] = "expired" if expired else "completed"
        return batch
