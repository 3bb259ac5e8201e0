"""`llm.batch=true`: requests that wait for each other and are submitted together."""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Store
from convrag.sdk.identity import digest
from convrag_llms.batch_protocols import BatchProtocol, BatchResults, explain_missing
from convrag_llms.errors import HttpError, may_pass, read_status
from convrag_llms.limits import wait_for

log = logging.getLogger(__name__)

QUIET = 3.0
"""Seconds without a new request, after which those that wait are submitted."""

MAX_REQUESTS = 10_000
"""Requests of a batch, at most.

OpenAI takes five times as many (in a file of less than 200 MB), Anthropic ten times (256 MB).
"""

FIRST_WAIT = 1.0
"""Seconds before the first look at a batch."""

LONGEST_WAIT = 60.0
"""Seconds between two looks at a batch, at most."""

RETRIES = 5
"""Failures of the server in a row, after which all waiting threads get its error."""

_STORED_AS = "Batches.ask"
"""The method under which the store keeps the batch of each request."""


@dataclass(eq=False)
class _Request:
    """A request that threads wait for.

    Args:
        body: as it is sent.
        batch: the id of its batch; empty before it is submitted.
        reply: the response to it, once there is one.
        error: why there is no response.
    """

    body: Mapping[str, Any]
    batch: str
    reply: dict[str, Any] | None = None
    error: Exception | None = None

    @property
    def is_settled(self) -> bool:
        """Whether its response or its error is there."""
        return self.reply is not None or self.error is not None


class Batches:
    """The batches of a model at a server.

    The requests of all threads are collected until no new one comes: a wave, which is one batch.
    The store keeps which batch a request went with, until its reply is handed out. If the process
    is killed, the next one waits for its batches instead of paying again.

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
        self._handed_out: set[str] = set()
        self._changed = threading.Condition()
        self._last_added = 0.0
        self._thread: threading.Thread | None = None

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Wait for the reply to a request, for a day perhaps.

        Raises:
            HttpError: 503, where the batch ended without it: asked again, it is submitted again;
                else the server's.
            Cancelled: the calls of this thread are cancelled meanwhile.
        """
        key = digest(["batch", self._place, body])
        with self._changed:
            if key not in self._requests:
                self._add(key, body)
            request = self._requests[key]
            wait_for(self._changed, lambda: request.is_settled)
        if request.reply is None:
            assert request.error is not None
            raise request.error
        return request.reply

    def _add(self, key: str, body: Mapping[str, Any]) -> None:
        """Add a request, which may have gone with a batch of an earlier process. Needs the lock."""
        batch = b""
        if key not in self._handed_out:  # else it is another attempt, for another batch
            batch = self._store.get([key]).get(key, b"")
        self._requests[key] = _Request(body, batch.decode())
        self._last_added = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="batches", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Submit waves and wait for them, until nobody waits."""
        wait = FIRST_WAIT
        failures = 0
        while True:
            with self._changed:
                self._changed.wait(QUIET if self._list_unsent() else wait)
                used = set(self._handed_out)
                if not self._requests and not used:
                    self._thread = None
                    return
                wave = self._list_unsent()
                is_quiet = time.monotonic() - self._last_added >= QUIET
            try:
                # Their replies are in the store by now: asked again, they are another attempt.
                self._forget(list(used))
                self._handed_out -= used
                if wave and (is_quiet or len(wave) >= MAX_REQUESTS):
                    self._submit(dict(list(wave.items())[:MAX_REQUESTS]))
                    wait = FIRST_WAIT
                elif self._collect():
                    wait = FIRST_WAIT
                else:
                    wait = min(wait * 1.5, LONGEST_WAIT)
                failures = 0
            except Exception as error:
                failures += 1
                log.info("batches: %s", error)
                if failures > RETRIES or not may_pass(error):
                    self._settle(dict.fromkeys(list(self._requests), error))

    def _list_unsent(self) -> dict[str, Mapping[str, Any]]:
        """List the requests that went with no batch yet. Needs the lock."""
        return {key: request.body for key, request in self._requests.items() if not request.batch}

    def _submit(self, wave: Mapping[str, Mapping[str, Any]]) -> None:
        batch = self._protocol.submit(wave)
        self._store.put(_STORED_AS, dict.fromkeys(wave, batch.encode()))
        with self._changed:
            for key in wave:
                self._requests[key].batch = batch
        self.submitted += len(wave)
        log.info("%d requests were submitted as batch %s", len(wave), batch)

    def _collect(self) -> bool:
        """Hand out the results of batches that have ended; return whether one has."""
        waiting: dict[str, list[str]] = {}
        for key, request in list(self._requests.items()):
            if request.batch:
                waiting.setdefault(request.batch, []).append(key)
        has_ended = False
        for batch, keys in sorted(waiting.items()):
            results = self._look(batch)
            if results is not None:
                has_ended = True
                self._hand_out(results, keys)
        return has_ended

    def _hand_out(self, results: BatchResults, keys: Sequence[str]) -> None:
        """Hand out the results of a batch, in which the requests with these keys went."""
        found = dict.fromkeys(keys, results.missing) | dict(results.found)
        failed = [key for key, result in found.items() if isinstance(result, Exception)]
        self._forget(failed)
        self._handed_out |= found.keys() & self._requests.keys()
        self._settle(found)

    def _look(self, batch: str) -> BatchResults | None:
        try:
            return self._protocol.look(batch)
        except HttpError as error:
            if read_status(error) != 404:
                raise
            return BatchResults({}, explain_missing("the server has forgotten it"))

    def _settle(self, found: Mapping[str, dict[str, Any] | Exception]) -> None:
        """Give replies and errors to those who wait for them.

        Replies to requests of another process stay at the server.
        """
        with self._changed:
            for key in found.keys() & self._requests.keys():
                request = self._requests.pop(key)
                result = found[key]
                if isinstance(result, Exception):
                    request.error = result
                else:
                    request.reply = result
            self._changed.notify_all()

    def _forget(self, keys: Sequence[str]) -> None:
        """Forget the batches of requests: asked again, they go with another one."""
        self._store.put(_STORED_AS, dict.fromkeys(keys, b""))
