"""OpenSearch: its client, `knn_vector` of the engine lucene, and `rank_features`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from convrag.sdk.output.library_logs import limit_logs
from convrag_elasticsearch.connection import Connection
from convrag_elasticsearch.elasticsearch_engine import (
    POOL,
    Body,
    Elasticsearch,
    VectorIndexType,
    read_error_body,
)
from convrag_elasticsearch.errors import ClusterError, Failure


class OpenSearch(Elasticsearch):
    """Clusters of version 2.16 or later, with the plugin opensearch-knn for vectors."""

    name = "OpenSearch"
    option = "opensearch"
    prefix = "OPENSEARCH"
    variables: ClassVar = ("URL", "USER", "PASSWORD", "CA_CERTS", "AWS_REGION")
    example = "export OPENSEARCH_URL=http://localhost:9201 (compose.yaml starts a cluster there)"
    has_endpoints = False
    token_field: ClassVar = {"type": "rank_features"}

    def connect(self, connection: Connection, timeout: float) -> Any:
        from opensearchpy import OpenSearch as Client

        limit_logs(logging.CRITICAL, "opensearch")  # it logs requests, with bodies
        options: dict[str, Any] = {}
        if connection.ca_certs:
            options["ca_certs"] = connection.ca_certs
        region = connection.get("AWS_REGION")
        if region:
            options["http_auth"] = _make_signer(region, connection.hosts)
        elif connection.credentials:
            options["http_auth"] = connection.credentials
        return Client(
            hosts=connection.hosts,
            **options,
            timeout=timeout,
            max_retries=max(0, len(connection.urls) - 1),
            retry_on_status=(),
            pool_maxsize=POOL,
        )

    def send(self, client: Any, method: str, path: str, body: bytes | None, media: str) -> Any:
        return client.transport.perform_request(
            method, path, body=body, headers={"content-type": media}
        )

    def read_failure(self, error: Exception) -> Failure | None:
        from opensearchpy.exceptions import ConnectionTimeout, TransportError

        if not isinstance(error, TransportError):
            return None
        kind = type(error).__name__
        if isinstance(error, ConnectionTimeout):
            return Failure(408, error.error, kind)
        if not isinstance(error.status_code, int):
            return Failure(0, error.info if error.status_code == "N/A" else error.error, kind)
        return Failure(error.status_code, read_error_body(error.info) or error.error, kind)

    def find_other_engine(self, about: Mapping[str, Any]) -> str:
        version = about.get("version", {})
        if version.get("distribution") == "opensearch":
            return ""
        if "build_flavor" in version:
            return "it is Elasticsearch: choose retriever=elasticsearch, and set ES_URL"
        return (
            "it does not say that it is OpenSearch: set OPENSEARCH_URL to a cluster of version "
            "2.16 or later"
        )

    def build_vector_field(self, dimensions: int, kind: VectorIndexType) -> dict[str, Any]:
        field: dict[str, Any] = {"type": "knn_vector", "dimension": dimensions}
        if kind == "flat":
            return field
        method: dict[str, Any] = {
            "name": "hnsw",
            "engine": "lucene",
            "space_type": "cosinesimil",
        }
        if kind == "int8_hnsw":
            method["parameters"] = {"encoder": {"name": "sq"}}
        return field | {"method": method}

    def build_vector_settings(self, kind: VectorIndexType) -> dict[str, Any]:
        return {} if kind == "flat" else {"knn": True}

    def build_vector_search(
        self, vector: Sequence[float], size: int, candidates: int, kind: VectorIndexType
    ) -> Body:
        if kind != "flat":
            search = {"vector": vector, "k": max(candidates, size)}
            return {"query": {"knn": {"vector": search}}}
        parameters = {"field": "vector", "query_value": vector, "space_type": "cosinesimil"}
        script = {"source": "knn_score", "lang": "knn", "params": parameters}
        return {
            "query": {"script_score": {"query": {"exists": {"field": "vector"}}, "script": script}}
        }

    def filter_search(self, body: Body, clause: Body) -> Body:
        query = body["query"]
        if "knn" in query:
            search = {**query["knn"]["vector"], "filter": clause}
            return {**body, "query": {"knn": {"vector": search}}}
        if "script_score" in query:
            scored = {"bool": {"filter": [query["script_score"]["query"], clause]}}
            return {**body, "query": {"script_score": {**query["script_score"], "query": scored}}}
        return super().filter_search(body, clause)

    def build_token_query(
        self, tokens: Mapping[str, float], *, prune: bool, plugins: frozenset[str]
    ) -> Body:
        if "opensearch-neural-search" in plugins:
            return {"neural_sparse": {"tokens": {"query_tokens": tokens}}}
        features = [
            {"rank_feature": {"field": f"tokens.{token}", "linear": {}, "boost": weight}}
            for token, weight in tokens.items()
        ]
        return {"bool": {"should": features}}

    def list_plugins(self, request: Callable[[str, str], Any]) -> frozenset[str]:
        try:
            rows = request("GET", "/_cat/plugins?format=json")
        except ClusterError as error:
            if error.unavailable:
                raise
            return frozenset()  # a user who may not list them searches as without them
        return frozenset(row["component"] for row in rows)


def _make_signer(region: str, hosts: Sequence[str]) -> Any:
    """Make the client's own signer of requests, with the credentials that boto3 finds.

    Raises:
        ClusterError: boto3 is not installed, or finds no credentials.
    """
    from opensearchpy import Urllib3AWSV4SignerAuth

    if not find_spec("boto3"):
        raise ClusterError(
            "OPENSEARCH_AWS_REGION: boto3 finds the keys to sign with: pip install boto3", 401
        )
    from boto3 import Session

    credentials = Session().get_credentials()
    if credentials is None:
        raise ClusterError(
            "OPENSEARCH_AWS_REGION: boto3 finds no keys: run `aws configure`, or unset it", 401
        )
    service = "aoss" if any(".aoss." in host for host in hosts) else "es"
    return Urllib3AWSV4SignerAuth(credentials, region, service)
