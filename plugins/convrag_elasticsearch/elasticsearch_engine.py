"""Elasticsearch: its client, `dense_vector` and `sparse_vector`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.retry_after import parse_retry_after
from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.errors import OTHER_ENGINE, Failure

Body = dict[str, Any]
"""The body of a search request: `query` or `knn`, with what belongs to it."""

VectorIndexType = Literal["hnsw", "int8_hnsw", "flat"]

POOL = 64
"""Connections that are kept open to each node, for as many threads."""

_CLIENT_LOGGERS = tuple(f"elastic_transport.{name}" for name in ("transport", "node_pool", "node"))
"""The client's loggers, which log a line for each request, with its address."""

_UNKNOWN = (
    "it does not say that it is one of version 8.17 or later (a proxy that drops headers hides it)"
)


class Elasticsearch:
    """Clusters of version 8.17 or later, reached by their own client.

    A fork of the engine is a subclass that overrides what differs.
    """

    name = "Elasticsearch"
    """Its name, as its makers write it."""
    option = "elasticsearch"
    """The retriever that searches with it."""
    prefix = "ES"
    """The beginning of its environment variables; `variables` are the rest of their names."""
    variables: ClassVar[Sequence[str]] = (
        "URL",
        "CLOUD_ID",
        "API_KEY",
        "USER",
        "PASSWORD",
        "CA_CERTS",
    )
    example = "export ES_URL=http://localhost:9200 (compose.yaml starts a cluster there)"
    has_endpoints = True
    """Whether it makes tokens of texts itself, by inference endpoints."""
    token_field: ClassVar[Mapping[str, str]] = {"type": "sparse_vector"}
    """The mapping of the field with a passage's tokens."""

    def list_variables(self) -> tuple[str, ...]:
        """List its environment variables."""
        return tuple(f"{self.prefix}_{name}" for name in self.variables)

    def read_connection(self) -> Connection:
        """Read the environment variables."""
        return Connection.from_environment(self.prefix, self.variables, self.example)

    def connect(self, connection: Connection, timeout: float) -> Any:
        """Create a client for all threads; it sends nothing yet.

        Where a connection fails, it tries the other nodes at once. All other retries are the
        caller's.
        """
        from elasticsearch import Elasticsearch as Client

        limit_logs(logging.ERROR, *_CLIENT_LOGGERS)
        return Client(
            **_make_address(connection),
            **_make_credentials(connection),
            request_timeout=timeout,
            max_retries=max(0, len(connection.urls) - 1),
            retry_on_status=(),
            retry_on_timeout=False,
            connections_per_node=POOL,
        )

    def send(self, client: Any, method: str, path: str, body: bytes | None, media: str) -> Any:
        """Send one request by the client; return the reply as plain data.

        Raises what the client raises.
        """
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = media
        return client.perform_request(method, path, headers=headers, body=body).body

    def read_failure(self, error: Exception) -> Failure | None:
        """Read an error of the client; None for an error of another kind."""
        from elasticsearch import ApiError, TransportError, UnsupportedProductError

        if isinstance(error, UnsupportedProductError):
            about = error.body if isinstance(error.body, Mapping) else {}
            return Failure(400, self.find_other_engine(about) or _UNKNOWN, OTHER_ENGINE)
        if isinstance(error, ApiError):
            headers: Any = error.meta.headers or {}
            wait = parse_retry_after(str(headers.get("retry-after") or ""))
            reply = read_error_body(error.body) or str(error)
            return Failure(error.meta.status, reply, retry_after=wait)
        if isinstance(error, TransportError):
            kind = type(error).__name__
            status = 408 if kind == "ConnectionTimeout" else 0
            return Failure(status, error.args[0] if error.args else error, kind)
        return None

    def find_other_engine(self, about: Mapping[str, Any]) -> str:
        """Say what to choose instead where another engine answers; empty for this one.

        Args:
            about: the reply to `GET /`.
        """
        if about.get("version", {}).get("distribution") == "opensearch":
            return "it is OpenSearch: choose retriever=opensearch, and set OPENSEARCH_URL"
        return ""

    def build_vector_field(self, dimensions: int, kind: VectorIndexType) -> dict[str, Any]:
        """Build the mapping of the field with a passage's vector."""
        options = {"index": True, "similarity": "cosine", "index_options": {"type": kind}}
        return {"type": "dense_vector", "dims": dimensions, **options}

    def build_vector_settings(self, kind: VectorIndexType) -> dict[str, Any]:
        """Build the settings of an index with vectors."""
        return {}

    def build_vector_search(
        self, vector: Sequence[float], size: int, candidates: int, kind: VectorIndexType
    ) -> Body:
        """Build the search for the nearest neighbours of a vector; scores are (1 + cosine) / 2."""
        knn = {
            "field": "vector",
            "query_vector": vector,
            "k": size,
            "num_candidates": max(candidates, size),
        }
        return {"knn": knn}

    def filter_search(self, body: Body, clause: Body) -> Body:
        """Let a search find only passages that a query matches, before it ranks them.

        Args:
            body: of the search, as a subquery has built it.
            clause: the query.
        """
        if "knn" in body:
            return {**body, "knn": {**body["knn"], "filter": clause}}
        return {**body, "query": {"bool": {"must": [body["query"]], "filter": [clause]}}}

    def build_token_query(
        self, tokens: Mapping[str, float], *, prune: bool, plugins: frozenset[str]
    ) -> Body:
        """Build the query that scores passages by the dot product of their weights with these.

        Args:
            tokens: the query's tokens and their weights.
            prune: leave tokens with small weights out.
            plugins: those of the cluster (see `list_plugins`).
        """
        return {"sparse_vector": {"field": "tokens", "query_vector": tokens, "prune": prune}}

    def list_plugins(self, request: Callable[[str, str], Any]) -> frozenset[str]:
        """List the plugins of a cluster that bear on queries.

        Args:
            request: sends a request to it by method and path, as `Cluster.request` does.
        """
        return frozenset()


def read_error_body(body: Any) -> Any:
    """Read the `error` of a reply; of one in another form, all of it."""
    return body.get("error", body) if isinstance(body, Mapping) else body


def _make_address(connection: Connection) -> dict[str, Any]:
    """Make the client's arguments that say where the cluster is."""
    cloud = connection.get("CLOUD_ID")
    address: dict[str, Any] = {"cloud_id": cloud} if cloud else {"hosts": connection.hosts}
    if connection.ca_certs:
        address["ca_certs"] = connection.ca_certs
    return address


def _make_credentials(connection: Connection) -> dict[str, Any]:
    """Make the client's arguments that say who asks."""
    key = connection.get("API_KEY")
    if key:
        return {"api_key": key}
    user = connection.credentials
    return {"basic_auth": user} if user else {}
