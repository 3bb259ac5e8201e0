"""Retrievers on an Elasticsearch cluster, by words, vectors and ELSER, for corpora that outgrow one machine."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_elasticsearch.elser import ElserRetriever
from convrag_elasticsearch.retriever import ElasticsearchRetriever

__all__ = ["ElasticsearchRetriever", "ElserRetriever"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register("retriever", "elasticsearch", ElasticsearchRetriever)
    register("retriever", "elser", ElserRetriever)
