"""`llm.batch=true`: requests that wait for each other and are submitted together, as OpenAI or Anthropic takes them."""

import json
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from urllib3.filepost import encode_multipart_formdata

from convrag import Store
from convrag.sdk.identity import digest
from convrag_llms.connections import CONNECTIONS, deadline
from convrag_llms.limits import wait_for
from convrag_llms.openai_compatible import read_error
from convrag_llms.reply import HttpError, may_pass, read_status

log = logging.getLogger(__name__)

QUIET = 3.0
"""Seconds without a new request, after which those that wait are submitted."""

MOST = 10_000
"""Requests of a batch; OpenAI takes five times as many, if their file has less than 200 MB, Anthropic ten (256 MB)."""

LONGEST_WAIT = 60.0
"""Seconds between two looks at a batch, at most."""

RETRIES = 5
"""How often in a row the server may fail, before those who wait get its error."""

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
        """Submit requests by their keys (64 hexadecimal digits) as a batch, and get its id. Raises as `send`."""

    @abstractmethod
    def look(self, batch: str) -> Ended | None:
        """What became of a batch; None while it is at work. Raises as `send`: HttpError 404 for a forgotten one."""

    def send(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
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
        lines = "".join(f"{json.dumps({'custom_id': key, **target, 'body': body})}\n" for key, body in wave.items())
        fields = {"purpose": "batch", "file": ("convrag.jsonl", lines, "application/jsonl")}
        file = json.loads(self.send("POST", "/files", *encode_multipart_formdata(fields)))["id"]
        asked = {"input_file_id": file, "endpoint": target["url"], "completion_window": "24h"}
        return str(json.loads(self.send("POST", "/batches", json.dumps(asked).encode()))["id"])

    def look(self, batch: str) -> Ended | None:
        """Read the files of replies and of errors, if it has ended; a batch that was refused has neither."""
        told = json.loads(self.send("GET", f"/batches/{batch}"))
        if told.get("status") not in ("completed", "failed", "expired", "cancelled"):
            return None
        missing = _explain_missing(told["status"])
        if told["status"] == "failed":
            missing = HttpError(400, f"the batch was refused: {told.get('errors')}")
        return Ended(dict(self._read_results(told)), missing)

    def _read_results(self, told: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any] | Exception]]:
        for name in filter(None, (told.get("output_file_id"), told.get("error_file_id"))):
            for line in self.send("GET", f"/files/{name}/content").splitlines():
                row = json.loads(line)
                response = row.get("response") or {}
                status, body = response.get("status_code") or 503, response.get("body") or {}
                yield row["custom_id"], body if status < 300 else HttpError(status, str(body or row.get("error")))


class AnthropicBatches(BatchProtocol):
    """Anthropic's Message Batches; paths follow that of its messages."""

    def submit(self, wave: Mapping[str, Mapping[str, Any]]) -> str:
        """Begin a batch of requests as they would be sent one by one."""
        asked = {"requests": [{"custom_id": key, "params": body} for key, body in wave.items()]}
        return str(json.loads(self.send("POST", "/batches", json.dumps(asked).encode()))["id"])

    def look(self, batch: str) -> Ended | None:
        """Read the results, in any order, if it has ended.

        They are read below the address that the batch went to: a `results_url` could lead the key to another host.
        """
        if json.loads(self.send("GET", f"/batches/{batch}"))["processing_status"] != "ended":
            return None
        rows = map(json.loads, self.send("GET", f"/batches/{batch}/results").splitlines())
        return Ended({row["custom_id"]: _read_message(row["result"]) for row in rows}, _explain_missing("ended"))


_MAY_PASS = ("rate_limit_error", "timeout_error", "api_error", "overloaded_error")
"""Anthropic's errors after which the same request may succeed."""


def _read_message(result: Mapping[str, Any]) -> dict[str, Any] | HttpError:
    """The message that a result of Anthropic's is, or why there is none: errored, canceled or expired."""
    if result["type"] == "succeeded":
        return dict(result["message"])
    if result["type"] != "errored":
        return _explain_missing(result["type"])
    error = result["error"].get("error") or {}
    status = 503 if error.get("type") in _MAY_PASS else 400
    return HttpError(status, f"{error.get('message')} ({error.get('type')})")


def _explain_missing(status: str) -> HttpError:
    return HttpError(503, f"the batch ended before the request was answered ({status})")


@dataclass(eq=False)
class _Request:
    """A request that threads wait for; `batch` is the id of the one that it went with, empty before."""

    body: Mapping[str, Any]
    batch: str
    reply: dict[str, Any] | None = None
    error: Exception | None = None


class Batches:
    """The batches of a model at a server.

    Requests of all threads are collected until no new one comes: a wave, which is one batch. The store keeps which
    batch a request went with, until its reply was handed out: a process that is killed leaves its batches at the
    server, and the next one waits for them instead of paying again.

    Args:
        protocol: the server's.
        store: keeps what was submitted.
        place: names the server.
    """

    def __init__(self, protocol: BatchProtocol, store: Store, place: str) -> None:
        self.submitted = 0
        self._protocol = protocol
        self._store = store
        self._place = place
        self._requests: dict[str, _Request] = {}
        self._handed_out: list[str] = []
        self._changed = threading.Condition()
        self._last = 0.0
        self._thread: threading.Thread | None = None

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Wait for the reply to a request, for a day perhaps.

        Raises:
            HttpError: 503, where the batch ended without it: asked again, it is submitted again; else the server's.
            Cancelled: the calls of this thread are cancelled meanwhile.
        """
        key = digest(["batch", self._place, body])
        with self._changed:
            if key not in self._requests:
                self._requests[key] = _Request(body, self._store.get([key]).get(key, b"").decode())
                self._last = time.monotonic()
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
                    self._thread.start()
            request = self._requests[key]
            wait_for(self._changed, lambda: request.reply is not None or request.error is not None)
        if request.reply is None:
            assert request.error is not None
            raise request.error
        return request.reply

    def _run(self) -> None:
        """Submit waves and wait for them, until nobody waits."""
        wait, failures = 1.0, 0
        while True:
            with self._changed:
                gathering = [key for key, request in self._requests.items() if not request.batch]
                self._changed.wait(QUIET if gathering else wait)
                used, self._handed_out = self._handed_out, []
                if not self._requests and not used:
                    self._thread = None
                    return
                wave = {key: each.body for key, each in self._requests.items() if not each.batch}
                due = len(wave) >= MOST or time.monotonic() - self._last >= QUIET
            try:
                self._forget(used)  # their replies are in the store by now: asked again, they are another attempt
                if wave and due:
                    self._submit(dict(list(wave.items())[:MOST]))
                    wait = 1.0
                else:
                    wait = 1.0 if self._collect() else min(wait * 1.5, LONGEST_WAIT)
                failures = 0
            except Exception as error:
                failures += 1
                log.info("batches: %s", error)
                if failures > RETRIES or not may_pass(error):
                    self._settle(dict.fromkeys(list(self._requests), error))

    def _submit(self, wave: Mapping[str, Mapping[str, Any]]) -> None:
        batch = self._protocol.submit(wave)
        self._store.put("Batches.ask", dict.fromkeys(wave, batch.encode()))
        with self._changed:
            for key in wave:
                self._requests[key].batch = batch
        self.submitted += len(wave)
        log.info("%d requests were submitted as batch %s", len(wave), batch)

    def _collect(self) -> bool:
        """Look at the batches that somebody waits for; whether one has ended."""
        ended, waiting = False, dict(self._requests)
        for batch in sorted({each.batch for each in waiting.values() if each.batch}):
            if (told := self._look(batch)) is not None:
                ended = True
                found = {key: told.missing for key, each in waiting.items() if each.batch == batch} | dict(told.found)
                self._forget([key for key, each in found.items() if isinstance(each, Exception)])
                self._handed_out += found.keys() & waiting.keys()
                self._settle(found)
        return ended

    def _look(self, batch: str) -> Ended | None:
        try:
            return self._protocol.look(batch)
        except HttpError as error:
            if read_status(error) != 404:
                raise
            return Ended({}, _explain_missing("the server has forgotten it"))

    def _settle(self, found: Mapping[str, dict[str, Any] | Exception]) -> None:
        """Hand out replies and errors; replies to another process's requests stay where they are."""
        with self._changed:
            for key in found.keys() & self._requests.keys():
                request, told = self._requests.pop(key), found[key]
                request.reply, request.error = (None, told) if isinstance(told, Exception) else (told, None)
            self._changed.notify_all()

    def _forget(self, keys: Sequence[str]) -> None:
        """Forget with which batch requests went: asked again, they go with another one."""
        self._store.put("Batches.ask", dict.fromkeys(keys, b""))
