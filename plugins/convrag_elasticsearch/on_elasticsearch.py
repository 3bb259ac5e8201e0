"""Elasticsearch: its client, `dense_vector` and `sparse_vector`. on_opensearch.py says where
OpenSearch differs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.retry_after import parse_retry_after
from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.errors import OTHER_ENGINE, Failure

if TYPE_CHECKING:
    from convrag_elasticsearch.cluster import Cluster

Body = dict[str, Any]
"""The body of a search request: `query` or `knn`, with what belongs to it."""

VectorIndexType = Literal["hnsw", "int8_hnsw", "flat"]

POOL = 64
"""Connections that are kept open to each node, for as many threads."""


class Elasticsearch:
    """Clusters of version 8.17 or later: the client sends the requests, which are the same for OpenSearch but for this.

    A fork of the engine is a subclass that says what differs.
    """

    name = "Elasticsearch"
    """As its makers write it."""
    option = "elasticsearch"
    """The retriever that searches with it."""
    prefix = "ES"
    """How its environment variables begin; `variables` are the rest of their names."""
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

        # They log a line for each request, with its address.
        limit_logs(
            logging.ERROR,
            *(f"elastic_transport.{name}" for name in ("transport", "node_pool", "node")),
        )
        cloud, key, user = (
            connection.get("CLOUD_ID"),
            connection.get("API_KEY"),
            connection.credentials,
        )
        given: dict[str, Any] = {"cloud_id": cloud} if cloud else {"hosts": connection.hosts}
        given |= {"api_key": key} if key else {"basic_auth": user} if user else {}
        given |= {"ca_certs": connection.ca_certs} if connection.ca_certs else {}
        return Client(
            **given,
            request_timeout=timeout,
            max_retries=max(0, len(connection.urls) - 1),
            retry_on_status=(),
            retry_on_timeout=False,
            connections_per_node=POOL,
        )

    def send(self, client: Any, method: str, path: str, body: bytes | None, media: str) -> Any:
        """Send one request by the client; return the reply as plain data. Raises what the client
        raises.
        """
        headers = {"accept": "application/json"} | (
            {"content-type": media} if body is not None else {}
        )
        return client.perform_request(method, path, headers=headers, body=body).body

    def read_failure(self, error: Exception) -> Failure | None:
        """Read an error that the client raised; None where it is none of the client's."""
        from elasticsearch import ApiError, TransportError, UnsupportedProductError

        if isinstance(error, UnsupportedProductError):
            about = error.body if isinstance(error.body, Mapping) else {}
            unknown = "it does not say that it is one of version 8.17 or later (a proxy that drops headers hides it)"
            return Failure(400, self.find_other_engine(about) or unknown, OTHER_ENGINE)
        if isinstance(error, ApiError):
            headers: Any = error.meta.headers or {}
            reply = (
                error.body.get("error", error.body)
                if isinstance(error.body, Mapping)
                else error.body
            )
            wait = parse_retry_after(str(headers.get("retry-after") or ""))
            return Failure(error.meta.status, reply or str(error), retry_after=wait)
        if isinstance(error, TransportError):
            kind = type(error).__name__
            return Failure(
                408 if kind == "ConnectionTimeout" else 0,
                error.args[0] if error.args else error,
                kind,
            )
        return None

    def find_other_engine(self, about: Mapping[str, Any]) -> str:
        """Say what to choose instead, where the reply to `GET /` is another engine's; empty where
        it is this one's.
        """
        is_other = about.get("version", {}).get("distribution") == "opensearch"
        return (
            "it is OpenSearch: choose retriever=opensearch, and set OPENSEARCH_URL"
            if is_other
            else ""
        )

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

    def build_token_query(
        self, tokens: Mapping[str, float], *, prune: bool, plugins: frozenset[str]
    ) -> Body:
        """Build the query that scores passages by the dot product of their tokens' weights with
        these.
        """
        return {"sparse_vector": {"field": "tokens", "query_vector": tokens, "prune": prune}}

    def list_plugins(self, cluster: Cluster) -> frozenset[str]:
        """List the plugins of the cluster that bear on queries."""
        return frozenset()
