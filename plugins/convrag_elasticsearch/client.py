"""The client, in the only module that imports elasticsearch. Its transport retries requests, the bulk helper's too."""

import logging
from collections.abc import Sequence
from typing import Any

from elastic_transport import ConnectionError as NoConnection
from elastic_transport import ConnectionTimeout, Transport, TransportError
from elasticsearch import ApiError, Elasticsearch, helpers

from convrag.sdk.cancelling import waiting
from convrag.sdk.library_logs import limit_logs
from convrag_elasticsearch.connection import TRANSIENT_STATUSES, Connection
from convrag_elasticsearch.retries import RetryPolicy, call_with_retries

CLIENT_ERRORS = (ApiError, TransportError)
"""The errors that requests raise."""

# They log a line for each request, with its address.
limit_logs(logging.ERROR, "elastic_transport.transport", "elastic_transport.node_pool", "elastic_transport.node")


class RetryingTransport(Transport):  # type: ignore[misc]
    """Sends requests with retries by `policy`; while the cluster is known to be `unavailable`, each is tried once.

    Where a connection fails, the other nodes are tried at once; the waits come where none of them answers.
    """

    policy = RetryPolicy(timeout=30, retries=0, max_wait=0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unavailable = False

    def perform_request(self, method: str, target: str, **options: Any) -> Any:
        """Send one request of the client's, with retries. Raises what the client raises."""
        policy = RetryPolicy(self.policy.timeout, 0, 0) if self.unavailable else self.policy
        send = super().perform_request
        try:
            with waiting():
                reply = call_with_retries(lambda: send(method, target, **options), policy, is_transient=_is_transient)
        except BaseException as error:
            self.unavailable = isinstance(error, NoConnection | ConnectionTimeout)
            raise
        self.unavailable = reply.meta.status in TRANSIENT_STATUSES
        return reply


def create_client(connection: Connection, policy: RetryPolicy) -> Elasticsearch:
    """Create a client for all threads; it sends nothing yet."""
    client = Elasticsearch(
        **connection.client_arguments(),
        transport_class=RetryingTransport,
        request_timeout=policy.timeout,
        max_retries=max(0, len(connection.urls) - 1),
        retry_on_status=(),
        retry_on_timeout=False,
        connections_per_node=32,
    )
    client.transport.policy = policy
    return client


def send_bulk(
    client: Elasticsearch, actions: Sequence[dict[str, Any]], index: str, chunk_bytes: int
) -> list[dict[str, Any]]:
    """Send bulk actions, in requests of at most so many bytes; return the cluster's reply to each, in their order."""
    sent = helpers.streaming_bulk(
        client, actions, chunk_size=len(actions), max_chunk_bytes=chunk_bytes, raise_on_error=False, index=index
    )
    return [result for _, item in sent for result in item.values()]


def _is_transient(outcome: Any) -> bool:
    """Whether a reply or an error may be another when the request is repeated."""
    if isinstance(outcome, BaseException):
        return isinstance(outcome, NoConnection | ConnectionTimeout) and type(outcome).__name__ != "TlsError"
    return outcome.meta.status in TRANSIENT_STATUSES
