"""Retrievers on a cluster of Elasticsearch or OpenSearch, by words, vectors and tokens, for corpora
that outgrow one machine.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register("retriever", "elasticsearch", "convrag_elasticsearch.retriever:ElasticsearchRetriever")
    register("retriever", "opensearch", "convrag_elasticsearch.retriever:OpenSearchRetriever")
    register(
        "retriever",
        "elser",
        "convrag_elasticsearch.retriever:ElserRetriever",
        mode="sparse",
        inference_id="convrag-elser",
        threads=2,
        chunk=32,
        chunk_bytes=1_000_000,
        index_timeout=300.0,
    )
