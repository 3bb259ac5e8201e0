"""Elasticsearch: its client, `dense_vector` and `sparse_vector`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from convrag.sdk.library_logs import limit_logs
from convrag.sdk.retry_after import parse_retry_after
from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.engine import Body, Engine, VectorIndexType
from convrag_elasticsearch.errors import OTHER_ENGINE, Failure

POOL = 64
"""Connections that are kept open to each node, for as many threads."""


class Elasticsearch(Engine):
    """Clusters of version 8.17 or later."""

    name = "Elasticsearch"
    option = "elasticsearch"
    prefix = "ES"
    variables = ("URL", "CLOUD_ID", "API_KEY", "USER", "PASSWORD", "CA_CERTS")
    example = "export ES_URL=http://localhost:9200 (compose.yaml starts a cluster there)"
    has_endpoints = True
    token_field: ClassVar = {"type": "sparse_vector"}

    def connect(self, connection: Connection, timeout: float) -> Any:
        from elasticsearch import Elasticsearch as Client

        # They log a line for each request, with its address.
        limit_logs(logging.ERROR, *(f"elastic_transport.{name}" for name in ("transport", "node_pool", "node")))
        cloud, key, user = connection.get("CLOUD_ID"), connection.get("API_KEY"), connection.credentials
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
        headers = {"accept": "application/json"} | ({"content-type": media} if body is not None else {})
        return client.perform_request(method, path, headers=headers, body=body).body

    def read_failure(self, error: Exception) -> Failure | None:
        from elasticsearch import ApiError, TransportError, UnsupportedProductError

        if isinstance(error, UnsupportedProductError):
            about = error.body if isinstance(error.body, Mapping) else {}
            unknown = "it does not say that it is one of version 8.17 or later (a proxy that drops headers hides it)"
            return Failure(400, self.find_other_engine(about) or unknown, OTHER_ENGINE)
        if isinstance(error, ApiError):
            headers: Any = error.meta.headers or {}
            reply = error.body.get("error", error.body) if isinstance(error.body, Mapping) else error.body
            wait = parse_retry_after(str(headers.get("retry-after") or ""))
            return Failure(error.meta.status, reply or str(error), retry_after=wait)
        if isinstance(error, TransportError):
            kind = type(error).__name__
            return Failure(408 if kind == "ConnectionTimeout" else 0, error.args[0] if error.args else error, kind)
        return None

    def find_other_engine(self, about: Mapping[str, Any]) -> str:
        is_other = about.get("version", {}).get("distribution") == "opensearch"
        return "it is OpenSearch: choose retriever=opensearch, and set OPENSEARCH_URL" if is_other else ""

    def build_vector_field(self, dimensions: int, kind: VectorIndexType) -> dict[str, Any]:
        options = {"index": True, "similarity": "cosine", "index_options": {"type": kind}}
        return {"type": "dense_vector", "dims": dimensions, **options}

    def build_vector_search(self, vector: Sequence[float], size: int, candidates: int, kind: VectorIndexType) -> Body:
        knn = {"field": "vector", "query_vector": vector, "k": size, "num_candidates": max(candidates, size)}
        return {"knn": knn}

    def build_token_query(self, tokens: Mapping[str, float], *, prune: bool, plugins: frozenset[str]) -> Body:
        return {"sparse_vector": {"field": "tokens", "query_vector": tokens, "prune": prune}}
