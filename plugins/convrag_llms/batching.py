"""`llm.batch=true`: requests that wait for each other and are submitted together."""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Store
from convrag.sdk.identity import digest
from convrag_llms.batch_protocols import BatchProtocol, Ended, explain_missing
from convrag_llms.limits import wait_for
from convrag_llms.reply import HttpError, may_pass, read_status

log = logging.getLogger(__name__)

QUIET = 3.0
"""Seconds without a new request, after which those that wait are submitted."""

MOST = 10_000
"""Requests of a batch; OpenAI takes five times as many, if their file has less than 200 MB,
Anthropic ten (256 MB).
"""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before the first look at a batch, and between two looks at most."""

RETRIES = 5
"""How often in a row the server may fail, before those who wait get its error."""


@dataclass(eq=False)
class _Request:
    """A request that threads wait for; `batch` is the id of the one that it went with, empty before."""

    body: Mapping[str, Any]
    batch: str
    reply: dict[str, Any] | None = None
    error: Exception | None = None


class Batches:
    """The batches of a model at a server.

    Requests of all threads are collected until no new one comes: a wave, which is one batch. The
    store keeps which batch a request went with, until its reply was handed out: a process that is
    killed leaves its batches at the server, and the next one waits for them instead of paying
    again.

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
            HttpError: 503, where the batch ended without it: asked again, it is submitted again;
                else the server's.
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
        wait, failures = FIRST_WAIT, 0
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
                self._forget(
                    used
                )  # their replies are in the store by now: asked again, they are another attempt
                if wave and due:
                    self._submit(dict(list(wave.items())[:MOST]))
                    wait = FIRST_WAIT
                else:
                    wait = FIRST_WAIT if self._collect() else min(wait * 1.5, LONGEST_WAIT)
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
                found = {
                    key: told.missing for key, each in waiting.items() if each.batch == batch
                } | dict(told.found)
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
            return Ended({}, explain_missing("the server has forgotten it"))

    def _settle(self, found: Mapping[str, dict[str, Any] | Exception]) -> None:
        """Hand out replies and errors; replies to another process's requests stay where they are."""
        with self._changed:
            for key in found.keys() & self._requests.keys():
                request, told = self._requests.pop(key), found[key]
                request.reply, request.error = (
                    (None, told) if isinstance(told, Exception) else (told, None)
                )
            self._changed.notify_all()

    def _forget(self, keys: Sequence[str]) -> None:
        """Forget with which batch requests went: asked again, they go with another one."""
        self._store.put("Batches.ask", dict.fromkeys(keys, b""))
