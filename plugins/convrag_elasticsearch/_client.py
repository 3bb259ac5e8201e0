"""The only module that imports elasticsearch. Every request, of a search or of the bulk helper, is repeated here."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from elastic_transport import ConnectionError as NoConnection
from elastic_transport import ConnectionTimeout, Transport, TransportError
from elasticsearch import ApiError, Elasticsearch
from elasticsearch import helpers as _helpers

from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.failures import PASSING
from convrag_elasticsearch.retrying import Patience, with_retries

ERRORS = (ApiError, TransportError)
"""What requests raise."""

for _name in ("elastic_transport.transport", "elastic_transport.node_pool", "elastic_transport.node"):
    logging.getLogger(_name).setLevel(logging.ERROR)  # a line for each request, with its address


class PatientTransport(Transport):  # type: ignore[misc]
    """Sends requests with `patience`; tries once only while the cluster is known to be `down`.

    Other nodes are tried at once where a connection fails; waiting is for when none of them answers. `failed` is set
    by the first request that came to nothing.
    """

    patience = Patience(timeout=30, retries=0, seconds=0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.down = False
        self.failed = threading.Event()

    def perform_request(self, method: str, target: str, **options: Any) -> Any:
        """One request of the client's, with its retries."""
        patience = Patience(self.patience.timeout, 0, 0) if self.down else self.patience
        send = super().perform_request
        try:
            answer = with_retries(lambda: send(method, target, **options), patience, passing=_passing)
        except BaseException as error:
            self.down = isinstance(error, NoConnection | ConnectionTimeout)
            self.failed.set()
            raise
        self.down = answer.meta.status in PASSING
        if answer.meta.status >= 400:
            self.failed.set()
        return answer


def connect(connection: Connection, patience: Patience) -> Elasticsearch:
    """A client for all threads; it sends nothing yet."""
    client = Elasticsearch(
        **connection.arguments(),
        transport_class=PatientTransport,
        request_timeout=patience.timeout,
        max_retries=max(0, len(connection.urls) - 1),
        retry_on_status=(),
        retry_on_timeout=False,
        connections_per_node=32,
    )
    client.transport.patience = patience
    return client


def bulk(
    client: Elasticsearch, actions: Iterable[dict[str, Any]], index: str, threads: int, chunk: int, chunk_bytes: int
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Send actions from several threads, no more than a few chunks ahead; yields whether each succeeded, and the item.

    A request that came to nothing is raised, but not before the actions have come to their end: they must look at
    `client.transport.failed`.
    """
    yield from _helpers.parallel_bulk(
        client,
        actions,
        thread_count=threads,
        chunk_size=chunk,
        max_chunk_bytes=chunk_bytes,
        queue_size=threads,
        raise_on_error=False,
        index=index,
    )


def _passing(outcome: Any) -> bool:
    if isinstance(outcome, BaseException):
        return isinstance(outcome, NoConnection | ConnectionTimeout) and not _is_tls(outcome)
    return outcome.meta.status in PASSING


def _is_tls(error: BaseException) -> bool:
    return type(error).__name__ == "TlsError"
