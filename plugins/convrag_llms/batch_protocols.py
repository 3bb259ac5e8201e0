"""How OpenAI and Anthropic take batches of requests, and how they tell what became of them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from urllib3.filepost import encode_multipart_formdata

from convrag_llms.connections import CONNECTIONS, deadline
from convrag_llms.openai_compatible import read_error
from convrag_llms.reply import HttpError

FILE_SECONDS = 600.0
"""For sending or reading the file of a batch."""

MOST_BYTES = 2**30
"""Of the file with the replies of a batch."""


@dataclass(frozen=True)
class Ended:
    """What a batch that has ended says: a reply or an error by key, and the error of those that it has none for."""

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
        """Submit requests by their keys (64 hexadecimal digits) as a batch, and get its id. Raises
        as `send`.
        """

    @abstractmethod
    def look(self, batch: str) -> Ended | None:
        """What became of a batch; None while it is at work. Raises as `send`: HttpError 404 for a
        forgotten one.
        """

    def send(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json"
    ) -> bytes:
        """Send a request and read the response. Raises what `HttpLLM.ask` raises."""
        url, headers = self._find_target(path)
        headers = {**headers, "content-type": content_type}
        with deadline(FILE_SECONDS), closing(CONNECTIONS.send(method, url, body, headers)) as got:
            if got.status >= 300:
                raise read_error(got)
            return b"".join(got.read_pieces(MOST_BYTES))


class OpenAIBatches(BatchProtocol):
    """OpenAI's protocol: requests and replies are files."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Upload the requests as a file, and begin its batch."""
        target = {"method": "POST", "url": "/v1/chat/completions"}
        lines = "".join(
            f"{json.dumps({'custom_id': key, **target, 'body': body})}\n"
            for key, body in wave.items()
        )
        fields = {"purpose": "batch", "file": ("convrag.jsonl", lines, "application/jsonl")}
        file = json.loads(self.send("POST", "/files", *encode_multipart_formdata(fields)))["id"]
        asked = {"input_file_id": file, "endpoint": target["url"], "completion_window": "24h"}
        return str(json.loads(self.send("POST", "/batches", json.dumps(asked).encode()))["id"])

    def look(self, batch: str) -> Ended | None:
        """Read the files of replies and of errors, if it has ended; a batch that was refused has
        neither.
        """
        told = json.loads(self.send("GET", f"/batches/{batch}"))
        if told.get("status") not in ("completed", "failed", "expired", "cancelled"):
            return None
        missing = explain_missing(told["status"])
        if told["status"] == "failed":
            missing = HttpError(400, f"the batch was refused: {told.get('errors')}")
        return Ended(dict(self._read_results(told)), missing)

    def _read_results(
        self, told: Mapping[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any] | Exception]]:
        for name in filter(None, (told.get("output_file_id"), told.get("error_file_id"))):
            for line in self.send("GET", f"/files/{name}/content").splitlines():
                row = json.loads(line)
                response = row.get("response") or {}
                status, body = response.get("status_code") or 503, response.get("body") or {}
                yield (
                    row["custom_id"],
                    body if status < 300 else HttpError(status, str(body or row.get("error"))),
                )


class AnthropicBatches(BatchProtocol):
    """Anthropic's Message Batches; paths follow that of its messages."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Begin a batch of requests as they would be sent one by one."""
        asked = {"requests": [{"custom_id": key, "params": body} for key, body in wave.items()]}
        return str(json.loads(self.send("POST", "/batches", json.dumps(asked).encode()))["id"])

    def look(self, batch: str) -> Ended | None:
        """Read the results, in any order, if it has ended.

        They are read below the address that the batch went to: a `results_url` could lead the key
        to another host.
        """
        if json.loads(self.send("GET", f"/batches/{batch}"))["processing_status"] != "ended":
            return None
        rows = map(json.loads, self.send("GET", f"/batches/{batch}/results").splitlines())
        return Ended(
            {row["custom_id"]: _read_message(row["result"]) for row in rows},
            explain_missing("ended"),
        )


_MAY_PASS = ("rate_limit_error", "timeout_error", "api_error", "overloaded_error")
"""Anthropic's errors after which the same request may succeed."""


def _read_message(result: Mapping[str, Any]) -> dict[str, Any] | HttpError:
    """The message that a result of Anthropic's is, or why there is none: errored, canceled or
    expired.
    """
    if result["type"] == "succeeded":
        return dict(result["message"])
    if result["type"] != "errored":
        return explain_missing(result["type"])
    error = result["error"].get("error") or {}
    status = 503 if error.get("type") in _MAY_PASS else 400
    return HttpError(status, f"{error.get('message')} ({error.get('type')})")


def explain_missing(status: str) -> HttpError:
    """The error of a request that a batch has no reply for: asked again, it may get one."""
    return HttpError(503, f"the batch ended before the request was answered ({status})")
