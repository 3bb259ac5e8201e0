"""The cluster as the retrievers see it: asked through one client, whose errors come out in our words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.failures import ClusterError, explain
from convrag_elasticsearch.retrying import Patience

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")

_FIRST_LOOK = Patience(timeout=10, retries=0, seconds=0)


class Cluster:
    """Connects at the first request.

    Args:
        patience: for each request.
    """

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._lock = threading.Lock()
        self._open: tuple[Connection, Elasticsearch] | None = None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections; the next request would open them again."""
        with self._lock:
            if self._open is not None:
                self._open[1].close()
                self._open = None

    @property
    def connection(self) -> Connection:
        """Whom we ask."""
        return self._opened()[0]

    def ask(self, call: Callable[[Elasticsearch], T], *, absent: T | None = None) -> T:
        """What a call with the client gives. Raises ClusterError.

        Args:
            call: takes the client.
            absent: what to give instead where the cluster says 404; None raises that as well.
        """
        connection, client = self._opened()
        failure = None
        try:
            return call(client)
        except Exception as error:
            failure = explain(error, connection) if _is_the_clients(error) else error
        if absent is not None and isinstance(failure, ClusterError) and failure.status == 404:
            return absent
        raise failure  # out here, since the original error may hold a key and would come along as its context

    def problems(self) -> Iterator[str]:
        """What is missing before anything can be asked: a variable, or the cluster itself."""
        connection = Connection.from_environment()
        if found := list(connection.problems()):
            yield from found
            return
        with Cluster(_FIRST_LOOK) as cluster:
            try:
                cluster.ask(lambda client: client.info())
            except ClusterError as error:
                yield str(error)

    def _opened(self) -> tuple[Connection, Any]:
        from convrag_elasticsearch import _client

        with self._lock:
            if self._open is None:
                connection = Connection.from_environment()
                if problem := next(connection.problems(), ""):
                    raise ClusterError(problem)
                self._open = connection, _client.connect(connection, self.patience)
            return self._open


def _is_the_clients(error: Exception) -> bool:
    from convrag_elasticsearch import _client

    return isinstance(error, _client.ERRORS)
