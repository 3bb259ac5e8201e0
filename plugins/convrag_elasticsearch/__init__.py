"""Retrievers on an Elasticsearch cluster, by words, vectors and ELSER, for corpora that outgrow one machine."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register("retriever", "elasticsearch", "convrag_elasticsearch.retriever:ElasticsearchRetriever")
    register("retriever", "elser", "convrag_elasticsearch.elser:ElserRetriever")
