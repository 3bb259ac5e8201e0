"""Retrievers on a cluster of Elasticsearch or OpenSearch, by words, vectors and tokens, for corpora
that outgrow one machine.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register(
        "retriever",
        "elasticsearch",
        "convrag_elasticsearch.retriever:ElasticsearchRetriever",
        "Search on an Elasticsearch cluster: by words, by vectors, by weighted tokens, or "
        "by two of them together.",
    )
    register(
        "retriever",
        "opensearch",
        "convrag_elasticsearch.retriever:OpenSearchRetriever",
        "Search on an OpenSearch cluster: by words, by vectors, by weighted tokens, or by "
        "two of them together.",
    )
    register(
        "retriever",
        "elser",
        "convrag_elasticsearch.retriever:ElserRetriever",
        "Search with ELSER v2 on an Elasticsearch cluster: a model that expands texts "
        "into weighted tokens (English).",
        mode="sparse",
        inference_id="convrag-elser",
        threads=2,
        chunk=32,
        chunk_bytes=1_000_000,
        index_timeout=300.0,
    )
