"""The servers that have the same model: which of them gets a request."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from convrag_llms.client import ModelClient
from convrag_llms.context_window import exceeds_context_window
from convrag_llms.endpoint import Endpoint
from convrag_llms.http_errors import may_pass, read_retry_after
from convrag_llms.prefix_index import PrefixIndex, name_blocks

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
"""Seconds for which a server that failed gets no request; each failure after that doubles them."""

LONGEST_PAUSE = 60.0

EXTRA_REQUESTS = 8
"""So many more requests than the least busy server may have in flight, and twice as many, to keep its conversations."""


@dataclass
class Server:
    """A server, and what is known of it: requests in flight and in all, and the failures since its last success."""

    endpoint: Endpoint
    client: ModelClient
    in_flight: int = 0
    requests: int = 0
    failures: int = 0
    failed_at: float = 0.0
    paused_until: float = 0.0

    def is_ready(self, now: float) -> bool:
        """Whether it may be asked: a server that has failed gets one request when its pause is over, and no more."""
        return not self.failures or (now >= self.paused_until and not self.in_flight)


class Servers:
    """The servers of one model. Each request goes to the least busy one; a conversation stays with its server.

    A server that fails (no connection, a timeout, limits, errors of its own) is left out for 1, 2, 4, ... 60 seconds,
    or for as long as it says (Retry-After), and then tried with one request. Where all have failed, the one is asked
    whose pause ends first.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = list(servers)
        self._prefixes = PrefixIndex()
        self._lock = threading.Lock()

    @property
    def first(self) -> Server:
        """The first one, which stands for all of them where it does not matter which is asked."""
        return self._servers[0]

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where they are."""
        return [server.endpoint for server in self._servers]

    def find_problems(self) -> list[str]:
        """Find what is missing, and what to do. Servers that do not answer are warned of where another one does."""
        problems = [list(endpoint.problems()) for endpoint in self.endpoints]
        if all(problems):
            return list(dict.fromkeys(problem for found in problems for problem in found))
        for problem in dict.fromkeys(problem for found in problems for problem in found):
            log.warning("%s (the others are asked meanwhile)", problem)
        return []

    @contextmanager
    def choose(self, body: Mapping[str, Any], failed: Sequence[Server] = ()) -> Iterator[Server]:
        """Choose the server for a request, which the block sends.

        Args:
            body: the request.
            failed: servers that failed in this call; one of them is chosen only where there is no other.
        """
        server, began = self._take(body, failed), time.monotonic()
        try:
            yield server
        except Exception as error:
            if may_pass(error) and not exceeds_context_window(error):
                self._note_failure(server, error, began)
            raise
        else:
            server.failures = 0
        finally:
            with self._lock:
                server.in_flight -= 1

    def has_other(self, failed: Sequence[Server]) -> bool:
        """Whether there is a server that may be asked at once, and none of those that failed."""
        now = time.monotonic()
        return any(server not in failed and server.is_ready(now) for server in self._servers)

    def _take(self, body: Mapping[str, Any], failed: Sequence[Server]) -> Server:
        blocks = name_blocks(body["messages"]) if len(self._servers) > 1 else []
        with self._lock:
            server = self._find_best(blocks, failed)
            if blocks:
                self._prefixes.add(blocks, self._servers.index(server))
            server.in_flight += 1
            server.requests += 1
        return server

    def _find_best(self, blocks: Sequence[bytes], failed: Sequence[Server]) -> Server:
        now = time.monotonic()
        others = [server for server in self._servers if server not in failed] or self._servers
        ready = [server for server in others if server.is_ready(now)]
        if not ready:
            return min(others, key=lambda server: server.paused_until)
        least = min(ready, key=lambda server: (server.in_flight, server.requests))
        known = self._prefixes.find(blocks)
        if known is None or (its := self._servers[known]) not in ready:
            return least
        is_overloaded = its.in_flight > max(2 * least.in_flight, least.in_flight + EXTRA_REQUESTS)
        return least if is_overloaded else its

    def _note_failure(self, server: Server, error: BaseException, began: float) -> None:
        """Leave a server out for a while. All requests that were in flight when it failed are one failure."""
        pause = read_retry_after(error)
        with self._lock:
            if server.failures and began <= server.failed_at:
                return
            if pause is None:
                pause = min(FIRST_PAUSE * 2 ** min(server.failures, 10), LONGEST_PAUSE)
            server.failures += 1
            server.failed_at = time.monotonic()
            server.paused_until = server.failed_at + pause
        if len(self._servers) > 1:
            log.warning("%s failed and gets no request for %.0f s", server.endpoint.public_address(), pause)
