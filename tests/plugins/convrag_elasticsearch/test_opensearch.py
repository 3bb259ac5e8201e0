"""What the engine of the tests does not have: signed requests, passwords, and the plugin for sparse
queries.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opensearchpy")
pytest.importorskip("jsonschema")

from convrag import Query
from convrag.api.errors import ConfigError, ConvragError
from convrag.sdk.search.queries import choose_queries
from convrag.store.store import Store
from convrag.testing.samples import passages
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.opensearch_engine import OpenSearch
from convrag_elasticsearch.retries import RetryPolicy
from convrag_elasticsearch.retriever import OpenSearchRetriever
from elasticsearch_server import Fault, Server, running_server
from elasticsearch_toys import Hashed
from toys import Corpora

ONCE = RetryPolicy(timeout=5, retries=0, max_wait=0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with running_server() as server:
        monkeypatch.setenv("OPENSEARCH_URL", server.address)
        yield server


def authorization(server: Server) -> str:
    """What a request says of who sends it."""
    Cluster(OpenSearch(), ONCE).request("GET", "/")
    return server.requests[-1][2].get("authorization", "")


def test_a_user_or_a_signature_goes_with_each_request(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert authorization(server) == ""
    monkeypatch.setenv("OPENSEARCH_AWS_REGION", "eu-central-1")
    monkeypatch.setattr("convrag_elasticsearch.opensearch_engine.find_spec", lambda name: None)
    with pytest.raises(ConvragError, match="pip install boto3"):
        authorization(server)
    monkeypatch.undo()
    monkeypatch.setenv("OPENSEARCH_URL", server.address)
    monkeypatch.setenv("OPENSEARCH_USER", "me")
    monkeypatch.setenv("OPENSEARCH_PASSWORD", "hunter2")
    assert authorization(server) == "Basic bWU6aHVudGVyMg=="


def test_amazon_gets_signed_requests(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("OPENSEARCH_AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "planted-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    assert authorization(server).startswith("AWS4-HMAC-SHA256 Credential=planted-key/")
    assert "/eu-central-1/es/aws4_request" in authorization(server)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(status=401), "Check OPENSEARCH_USER and OPENSEARCH_PASSWORD"),
        (Fault(status=500), "The cluster failed in itself: look into the log of its nodes"),
        (Fault(close="reset"), "Start the cluster"),
        (Fault(delay=0.5), "Is it overloaded"),
    ],
    ids=str,
)
def test_failures_say_what_to_do(fault: Fault, message: str, server: Server) -> None:
    server.inject_faults(fault)
    with pytest.raises(ConvragError, match=message):
        Cluster(OpenSearch(), RetryPolicy(0.2, 0, 0)).request("GET", "/")


def test_the_query_for_sparse_vectors_is_taken_where_its_plugin_is() -> None:
    plain, neural = (
        OpenSearch().build_token_query({"tea": 1.5}, prune=False, plugins=frozenset(names))
        for names in ((), ("opensearch-neural-search",))
    )
    assert plain["bool"]["should"] == [
        {"rank_feature": {"field": "tokens.tea", "linear": {}, "boost": 1.5}}
    ]
    assert neural == {"neural_sparse": {"tokens": {"query_tokens": {"tea": 1.5}}}}


@pytest.mark.parametrize(
    "option", [{"inference_id": "e"}, {"query": "semantic_text"}, {"prune": True}]
)
def test_what_only_elasticsearch_has_is_refused(option: dict[str, Any], tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "passage_vectors": tmp_path / "p",
        "query_vectors": tmp_path / "q",
        "mode": "sparse",
    } | option
    with pytest.raises(
        ConfigError, match="inference_id, query=semantic_text and prune are Elasticsearch's"
    ):
        OpenSearchRetriever(
            dataset=Corpora(default=passages()),
            embedder=Hashed(),
            store=Store(tmp_path / "s"),
            **given,
        )


def test_each_side_of_a_hybrid_searches_for_its_own_queries(server: Server, tmp_path: Path) -> None:
    embedder = Hashed()
    stage = OpenSearchRetriever(
        dataset=Corpora(default=passages()), embedder=embedder, store=Store(tmp_path), mode="hybrid"
    )
    both = [Query("copper kettle", search="lexical"), Query("green tea", search="dense")]
    for subquery, own in zip(stage.subqueries, both, strict=True):
        chosen = choose_queries(both, subquery.searches_by)
        assert subquery.build_searches(chosen, 4) == subquery.build_searches([own], 4)
