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
from convrag_elasticsearch.elasticsearch_engine import Elasticsearch
from convrag_elasticsearch.errors import OTHER_ENGINE, ClusterError, Failure, explain_failure
from convrag_elasticsearch.retries import RetryPolicy, call_with_retries

_WARNING_INTERVAL = 60.0
"""Seconds between two warnings that the cluster is waited for."""

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
        self._warned_at = -math.inf

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
            body: plain data, or bytes (lines of JSON).
            if_missing: returned where the cluster replies 404; None raises that as well.

        Raises:
            ClusterError: the cluster did not answer, replied with an error, or not all shards
                answered.
        """
        media = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        data = body if body is None or isinstance(body, bytes) else write_json(body)
        policy = self.policy
        if self._unavailable:
            policy = RetryPolicy(policy.timeout, retries=0, max_wait=0)
        try:
            with release_slot():
                reply = call_with_retries(
                    lambda: self._send(method, path, data, media), policy, self.warn_of_wait
                )
        except ClusterError as error:
            self._unavailable = error.unavailable
            if if_missing is not None and error.status == 404:
                return if_missing
            raise
        self._unavailable = False
        return reply

    def explain(self, item: Any) -> ClusterError:
        """Build an error from a reply {"error": ..., "status": ...}.

        Args:
            item: the reply to a whole request, or to one item of it.
        """
        failure = Failure(int(item.get("status") or 500), item.get("error"))
        return explain_failure(failure, self.engine.name, self._connect()[0])

    def find_problems(self) -> Iterator[str]:
        """Yield what prevents any request: bad variables, no answer, or another engine."""
        connection = self.engine.read_connection()
        problems = list(connection.find_problems())
        if problems:
            yield from problems
            return
        with Cluster(self.engine, _PING_POLICY) as cluster:
            try:
                about = cluster.request("GET", "/")
            except ClusterError as error:
                yield str(error)
                return
        other = self.engine.find_other_engine(about)
        if other:
            failure = Failure(400, other, OTHER_ENGINE)
            yield str(explain_failure(failure, self.engine.name, connection))

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
            partial = f"only {shards['successful']} of {shards['total']} shards answered"
            failure = Failure(503, partial)
        # Outside of `except`: the original error may hold a key, and would be its context.
        raise explain_failure(failure, self.engine.name, connection)

    def warn_of_wait(self, error: BaseException | None) -> None:
        """Log that the cluster is waited for, once a minute at most."""
        if time.monotonic() - self._warned_at > _WARNING_INTERVAL:
            self._warned_at = time.monotonic()
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
                client = self.engine.connect(connection, self.policy.timeout)
                self._connected = (connection, client)
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
