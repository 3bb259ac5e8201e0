"""The cluster: one client for all requests, whose errors are translated into ours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from convrag_elasticsearch.connection import ClusterError, Connection, translate_error
from convrag_elasticsearch.retries import RetryPolicy

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")

_PING_POLICY = RetryPolicy(timeout=10, retries=0, max_wait=0)


class Cluster:
    """Sends requests to the cluster; it connects at the first one.

    Args:
        policy: the retries of each request.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        self._lock = threading.Lock()
        self._connected: tuple[Connection, Elasticsearch] | None = None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections; the next request would open them again."""
        with self._lock:
            if self._connected is not None:
                self._connected[1].close()
                self._connected = None

    @property
    def connection(self) -> Connection:
        """The address and the credentials in use."""
        return self._connect()[0]

    def request(self, call: Callable[[Elasticsearch], T], *, if_missing: T | None = None) -> T:
        """Call the client, and return what the call returns.

        Args:
            call: takes the client.
            if_missing: returned where the cluster replies 404; None raises that as well.

        Raises:
            ClusterError: the cluster did not answer, or replied with an error.
        """
        connection, client = self._connect()
        failure = None
        try:
            return call(client)
        except Exception as error:
            failure = translate_error(error, connection) if _is_client_error(error) else error
        if if_missing is not None and isinstance(failure, ClusterError) and failure.status == 404:
            return if_missing
        raise failure  # outside of `except`: else the original error, which may hold a key, would be its context

    def find_problems(self) -> Iterator[str]:
        """Yield what prevents any request: variables that are missing or contradict each other, or no answer."""
        connection = Connection.from_environment()
        if problems := list(connection.find_problems()):
            yield from problems
            return
        with Cluster(_PING_POLICY) as cluster:
            try:
                cluster.request(lambda client: client.info())
            except ClusterError as error:
                yield str(error)

    def _connect(self) -> tuple[Connection, Any]:
        from convrag_elasticsearch import client

        with self._lock:
            if self._connected is None:
                connection = Connection.from_environment()
                if problem := next(connection.find_problems(), ""):
                    raise ClusterError(problem)
                self._connected = connection, client.create_client(connection, self.policy)
            return self._connected


def _is_client_error(error: Exception) -> bool:
    from convrag_elasticsearch import client

    return isinstance(error, client.CLIENT_ERRORS)
