"""How OpenAI and Anthropic take batches of requests, and how they return the results."""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from urllib3.filepost import encode_multipart_formdata

from convrag_llms.deadlines import deadline
from convrag_llms.errors import HttpError, read_status
from convrag_llms.openai_protocol import make_http_error, open_response, parse_object, raise_error

log = logging.getLogger(__name__)

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

    def send_json(
        self, method: str, path: str, data: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request with JSON, and parse that of the response.

        Raises as `send`, and HttpError 502 for anything else than a JSON object.
        """
        body = b"" if data is None else json.dumps(data).encode()
        return parse_object(self.send(method, path, body), {})


class OpenAIBatches(BatchProtocol):
    """OpenAI's protocol: requests and replies are files."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Upload the requests as a file, and begin its batch."""
        batch = {
            "input_file_id": self._upload(wave),
            "endpoint": _COMPLETIONS,
            "completion_window": "24h",
        }
        return _read_id(self.send_json("POST", "/batches", batch))

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
        return _read_id(parse_object(self.send("POST", "/files", form, content_type), {}))

    def _read_results(self, file: str) -> Iterator[tuple[str, dict[str, Any] | Exception]]:
        """Read a file of results: the key of a request, and the response to it or its error.

        A file that the server has lost has none; those of the batch's other file count.
        """
        try:
            content = self.send("GET", f"/files/{file}/content")
        except HttpError as error:
            if read_status(error) != 404:
                raise
            log.warning("The server has lost the file %s of a batch", file)
            return
        for row in _read_rows(content):
            yield row["custom_id"], _read_response(row)


class AnthropicBatches(BatchProtocol):
    """Anthropic's Message Batches; their paths begin with that of its messages."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Begin a batch of requests as they would be sent one by one."""
        requests = [{"custom_id": key, "params": body} for key, body in wave.items()]
        return _read_id(self.send_json("POST", "/batches", {"requests": requests}))

    def look(self, batch: str) -> BatchResults | None:
        """Read the results, in any order, if it has ended.

        They are read below the address that the batch went to: a `results_url` could lead the key
        to another host.
        """
        if self.send_json("GET", f"/batches/{batch}").get("processing_status") != "ended":
            return None
        rows = _read_rows(self.send("GET", f"/batches/{batch}/results"))
        found = {row["custom_id"]: _read_message(row.get("result")) for row in rows}
        return BatchResults(found, explain_missing("ended"))


_MAY_PASS = ("rate_limit_error", "timeout_error", "api_error", "overloaded_error")
"""Anthropic's errors after which the same request may succeed."""


def _read_message(result: Any) -> dict[str, Any] | HttpError:
    """Read the message of one of Anthropic's results, or the error of one without a message."""
    if not isinstance(result, dict):
        return explain_missing("its result cannot be read")
    kind = result.get("type")
    message = result.get("message")
    if kind == "succeeded" and isinstance(message, dict):
        return message
    if kind != "errored":
        return explain_missing(str(kind))
    outer = result.get("error")
    error = outer.get("error") if isinstance(outer, dict) else None
    if not isinstance(error, dict):
        return explain_missing(str(kind))
    status = 503 if error.get("type") in _MAY_PASS else 400
    return HttpError(status, f"{error.get('message')} ({error.get('type')})")


def _read_id(described: Mapping[str, Any]) -> str:
    """Read the id of what the server has made. Raises HttpError if it says none."""
    if described.get("id"):
        return str(described["id"])
    raise_error(described)
    raise HttpError(502, f"what it sent has no id: {described}")


def _read_rows(content: bytes) -> list[dict[str, Any]]:
    """Read the lines of a file of results.

    A line that cannot be read is left out, so that its request has no result, and is asked again.
    Raises HttpError (502) if there is no other line: this may be the page of a proxy.
    """
    lines = [line for line in content.splitlines() if line.strip()]
    rows = [row for row in map(_parse_row, lines) if row is not None]
    if not rows:
        text = content.decode(errors="replace")
        raise HttpError(502, f"what it sent has no results of a batch: {text}")
    damaged = len(lines) - len(rows)
    if damaged:
        log.warning("%d lines of a batch's results cannot be read: they are asked again", damaged)
    return rows


def _parse_row(line: bytes) -> dict[str, Any] | None:
    """Parse a line of results; None if it is not the result of a request."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and isinstance(row.get("custom_id"), str) else None


def _read_response(row: Mapping[str, Any]) -> dict[str, Any] | HttpError:
    """Read the response of one of OpenAI's results, or its error."""
    response = row.get("response")
    if not isinstance(response, dict):
        response = {}
    status = response.get("status_code")
    body = response.get("body")
    if not isinstance(status, int):
        status = 503
    if status >= 300:
        return make_http_error(status, body or row.get("error"))
    if isinstance(body, dict):
        return body
    return explain_missing("its result cannot be read")


def explain_missing(status: str) -> HttpError:
    """Make the error of a request that a batch has no reply for: asked again, it may get one."""
    return HttpError(503, f"the batch ended before the request was answered ({status})")
