"""How OpenAI and Anthropic take batches of requests, and how they return the results."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from urllib3.filepost import encode_multipart_formdata

from convrag_llms.deadlines import deadline
from convrag_llms.errors import HttpError
from convrag_llms.openai_protocol import make_http_error, open_response

FILE_SECONDS = 600.0
"""Seconds in which the file of a batch must be sent or read."""

MAX_FILE_BYTES = 2**30
"""The longest file with the replies of a batch."""

_FINISHED = frozenset({"completed", "failed", "expired", "cancelled"})
"""The statuses of OpenAI's batches that no longer change."""

_COMPLETIONS = "/v1/chat/completions"
"""The endpoint that the requests of OpenAI's batches are for."""


@dataclass(frozen=True)
class BatchResults:
    """The results of a batch that has ended.

    Args:
        found: the key of a request -> the response to it, or its error.
        missing: the error of the requests that have no result.
    """

    found: Mapping[str, dict[str, Any] | Exception]
    missing: HttpError


class BatchProtocol(ABC):
    """How a provider takes batches.

    Args:
        find_target: finds the URL of a path, and the headers that say who asks.
    """

    def __init__(self, find_target: Callable[[str], tuple[str, Mapping[str, str]]]) -> None:
        self._find_target = find_target

    @abstractmethod
    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Submit requests as a batch, and return its id. Raises as `send`.

        Args:
            wave: the key of a request (64 hexadecimal digits) -> the request.
        """

    @abstractmethod
    def look(self, batch: str) -> BatchResults | None:
        """Return the results of a batch; None while it is at work.

        Raises as `send`: HttpError 404 for a batch that the server has forgotten.
        """

    def send(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> bytes:
        """Send a request and read the response. Raises what `HttpLLM.ask` raises."""
        url, headers = self._find_target(path)
        headers = {**headers, "content-type": content_type}
        with deadline(FILE_SECONDS), open_response(method, url, body, headers) as response:
            return b"".join(response.read_pieces(MAX_FILE_BYTES))

    def send_json(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> Any:
        """Send a request with JSON, and parse that of the response. Raises as `send`."""
        body = b"" if data is None else json.dumps(data).encode()
        return json.loads(self.send(method, path, body))


class OpenAIBatches(BatchProtocol):
    """OpenAI's protocol: requests and replies are files."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Upload the requests as a file, and begin its batch."""
        batch = {
            "input_file_id": self._upload(wave),
            "endpoint": _COMPLETIONS,
            "completion_window": "24h",
        }
        return str(self.send_json("POST", "/batches", batch)["id"])

    def look(self, batch: str) -> BatchResults | None:
        """Read the files of replies and of errors, if it has ended.

        A batch that was refused has neither.
        """
        state = self.send_json("GET", f"/batches/{batch}")
        status = state.get("status")
        if status not in _FINISHED:
            return None
        missing = explain_missing(status)
        if status == "failed":
            missing = HttpError(400, f"the batch was refused: {state.get('errors')}")
        found: dict[str, dict[str, Any] | Exception] = {}
        for file in (state.get("output_file_id"), state.get("error_file_id")):
            if file:
                found.update(self._read_results(file))
        return BatchResults(found, missing)

    def _upload(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Upload the file of requests, and return its id."""
        target = {"method": "POST", "url": _COMPLETIONS}
        rows = [{"custom_id": key, **target, "body": body} for key, body in wave.items()]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        form, content_type = encode_multipart_formdata(
            {"purpose": "batch", "file": ("convrag.jsonl", lines, "application/jsonl")}
        )
        return str(json.loads(self.send("POST", "/files", form, content_type))["id"])

    def _read_results(self, file: str) -> Iterator[tuple[str, dict[str, Any] | Exception]]:
        """Read a file of results: the key of a request, and the response to it or its error."""
        for line in self.send("GET", f"/files/{file}/content").splitlines():
            row = json.loads(line)
            response = row.get("response") or {}
            status = response.get("status_code") or 503
            body = response.get("body") or {}
            if status < 300:
                yield row["custom_id"], body
            else:
                yield row["custom_id"], make_http_error(status, body or row.get("error"))


class AnthropicBatches(BatchProtocol):
    """Anthropic's Message Batches; their paths begin with that of its messages."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Begin a batch of requests as they would be sent one by one."""
        requests = [{"custom_id": key, "params": body} for key, body in wave.items()]
        return str(self.send_json("POST", "/batches", {"requests": requests})["id"])

    def look(self, batch: str) -> BatchResults | None:
        """Read the results, in any order, if it has ended.

        They are read below the address that the batch went to: a `results_url` could lead the key
        to another host.
        """
        if self.send_json("GET", f"/batches/{batch}")["processing_status"] != "ended":
            return None
        lines = self.send("GET", f"/batches/{batch}/results").splitlines()
        rows = [json.loads(line) for line in lines]
        found = {row["custom_id"]: _read_message(row["result"]) for row in rows}
        return BatchResults(found, explain_missing("ended"))


_MAY_PASS = ("rate_limit_error", "timeout_error", "api_error", "overloaded_error")
"""Anthropic's errors after which the same request may succeed."""


def _read_message(result: Mapping[str, Any]) -> dict[str, Any] | HttpError:
    """Read the message of one of Anthropic's results, or the error of one without a message."""
    if result["type"] == "succeeded":
        return dict(result["message"])
    if result["type"] != "errored":
        return explain_missing(result["type"])
    error = result["error"].get("error") or {}
    status = 503 if error.get("type") in _MAY_PASS else 400
    return HttpError(status, f"{error.get('message')} ({error.get('type')})")


def explain_missing(status: str) -> HttpError:
    """Make the error of a request that a batch has no reply for: asked again, it may get one."""
    return HttpError(503, f"the batch ended before the request was answered ({status})")
