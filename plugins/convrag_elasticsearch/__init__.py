"""Retrievers on a cluster of Elasticsearch or OpenSearch, for corpora that outgrow one machine.

* `retriever`: the options elasticsearch, opensearch and elser.
* `cluster_retriever`: their base: what is searched, checked and indexed.

The cluster:

* `cluster`: one client for all requests, which are repeated while their failure may pass.
* `connection`: addresses and credentials, from environment variables.
* `retries`: retries with backoff.
* `errors`: errors of a cluster, with advice.
* `elasticsearch_engine`: Elasticsearch's client and queries.
* `opensearch_engine`: where OpenSearch differs.
* `inference_endpoint`: ELSER's endpoint on a cluster.

What is searched:

* `subquery`: a way to search.
* `lexical`: words, by BM25.
* `dense`: nearest neighbours of a vector.
* `sparse`: weighted tokens, from ELSER or from files.
* `search`: a search of one index, with the rankings fused.
* `multi_search`: several searches in one request.
* `batcher`: collects what several threads send.
* `indexed_passages`: looks passages up in an index.

What is indexed:

* `filters`: the fields of passages in an index, and conditions on them as queries.
* `documents`: passages as documents of an index.
* `index_names`: names of indexes and aliases.
* `index_plan`: the index to build.
* `index_builder`: builds it, or resumes an interrupted build.
* `complete_index`: an index that was completed, and whether it has lost passages since.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retrievers."""
    register(
        "retriever",
        "elasticsearch",
        "convrag_elasticsearch.retriever:ElasticsearchRetriever",
        "Search on an Elasticsearch cluster: by words, vectors, weighted tokens, or two of them.",
    )
    register(
        "retriever",
        "opensearch",
        "convrag_elasticsearch.retriever:OpenSearchRetriever",
        "Search on an OpenSearch cluster: by words, vectors, weighted tokens, or two of them.",
    )
    register(
        "retriever",
        "elser",
        "convrag_elasticsearch.retriever:ElserRetriever",
        "Search with ELSER v2, which expands English texts into weighted tokens, on Elasticsearch.",
        mode="sparse",
        inference_id="convrag-elser",
        threads=2,
        chunk=32,
        chunk_bytes=1_000_000,
        index_timeout=300.0,
    )
