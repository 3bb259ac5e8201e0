"""The cluster: one client for all requests, which are repeated while their failure may pass."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from convrag.sdk.cancellation import release_slot
from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.errors import OTHER_ENGINE, ClusterError, Failure, explain_failure
from convrag_elasticsearch.on_elasticsearch import Elasticsearch
from convrag_elasticsearch.retries import RetryPolicy, call_with_retries

_TOLD_AGAIN = 60.0
"""Seconds after which it is said again that the cluster is waited for."""

_PING_POLICY = RetryPolicy(timeout=10, retries=0, max_wait=0)

log = logging.getLogger(__name__)


class Cluster:
    """Sends requests to the cluster; it connects at the first one.

    While the cluster is known not to answer, each request is tried once.

    Args:
        engine: what the cluster runs.
        policy: the retries of each request.
    """

    def __init__(self, engine: Elasticsearch, policy: RetryPolicy) -> None:
        self.engine = engine
        self.policy = policy
        self._lock = threading.Lock()
        self._connected: tuple[Connection, Any] | None = None
        self._unavailable = False
        self._told = -math.inf

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections; the next request would open them again."""
        with self._lock:
            if self._connected is not None:
                self._connected[1].close()
                self._connected = None

    def request(self, method: str, path: str, body: Any = None, *, if_missing: Any = None) -> Any:
        """Send a request, with retries, and return the reply.

        Args:
            method: "GET", "PUT", ...
            path: with the query; names in it are quoted.
            body: plain data, or bytes: lines of JSON.
            if_missing: returned where the cluster replies 404; None raises that as well.

        Raises:
            ClusterError: the cluster did not answer, replied with an error, or not all shards
                answered.
        """
        media = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        data = body if body is None or isinstance(body, bytes) else write_json(body)
        policy = RetryPolicy(self.policy.timeout, 0, 0) if self._unavailable else self.policy
        try:
            with release_slot():
                reply = call_with_retries(
                    lambda: self._send(method, path, data, media), policy, self.tell_wait
                )
        except ClusterError as error:
            self._unavailable = error.unavailable
            if if_missing is not None and error.status == 404:
                return if_missing
            raise
        self._unavailable = False
        return reply

    def explain(self, item: Any) -> ClusterError:
        """Build an error from a reply {"error": ..., "status": ...}, to a whole request or to one
        item of it.
        """
        failure = Failure(int(item.get("status") or 500), item.get("error"))
        return explain_failure(failure, self.engine.name, self._connect()[0])

    def find_problems(self) -> Iterator[str]:
        """Yield what prevents any request: variables that are missing or contradict each other, or
        no answer.
        """
        connection = self.engine.read_connection()
        if problems := list(connection.find_problems()):
            yield from problems
            return
        with Cluster(self.engine, _PING_POLICY) as cluster:
            try:
                if other := self.engine.find_other_engine(cluster.request("GET", "/")):
                    yield str(
                        explain_failure(
                            Failure(400, other, OTHER_ENGINE), self.engine.name, connection
                        )
                    )
            except ClusterError as error:
                yield str(error)

    def _send(self, method: str, path: str, body: bytes | None, media: str) -> Any:
        connection, client = self._connect()
        try:
            reply = self.engine.send(client, method, path, body, media)
        except Exception as error:
            failure = self.engine.read_failure(error)
            if failure is None:
                raise
        else:
            shards = reply.get("_shards") if isinstance(reply, dict) else None
            if not shards or not shards["failed"]:
                return reply
            failure = Failure(
                503, f"only {shards['successful']} of {shards['total']} shards answered"
            )
        # outside of `except`: else the original error, which may hold a key, would be its context
        raise explain_failure(failure, self.engine.name, connection)

    def tell_wait(self, error: BaseException | None) -> None:
        """Say that the cluster is waited for, once a minute at most."""
        if time.monotonic() - self._told > _TOLD_AGAIN:
            self._told = time.monotonic()
            log.warning(
                "%s It is asked again, with pauses of %g s together at most.",
                error,
                self.policy.max_wait,
            )

    def _connect(self) -> tuple[Connection, Any]:
        with self._lock:
            if self._connected is None:
                connection = self.engine.read_connection()
                if problem := next(connection.find_problems(), ""):
                    raise ClusterError(problem, 400)
                self._connected = connection, self.engine.connect(connection, self.policy.timeout)
            return self._connected


def write_json(value: Any) -> bytes:
    """Write a value in one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def write_lines(values: Iterable[Any]) -> bytes:
    """Write values as lines of JSON, as requests with many parts have them."""
    return b"".join(write_json(value) + b"\n" for value in values)


def make_path(*parts: str) -> str:
    """Make the path of a request from the names in it."""
    return "".join(f"/{quote(part, safe='*')}" for part in parts)
