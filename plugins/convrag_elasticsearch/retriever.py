"""`retriever=elasticsearch`, `opensearch` and `elser`."""

from typing import ClassVar

from convrag_elasticsearch.cluster_retriever import ClusterRetriever
from convrag_elasticsearch.elasticsearch_engine import Elasticsearch
from convrag_elasticsearch.opensearch_engine import OpenSearch


class ElasticsearchRetriever(ClusterRetriever):
    """Search on an Elasticsearch cluster: by words, vectors, weighted tokens, or two of them.

    `python -m convrag task=index retriever=elasticsearch` builds the index once; several settings
    may have theirs side by side. Address and credentials come from environment variables alone:
    ES_URL (several nodes, separated by commas) or ES_CLOUD_ID, ES_API_KEY or ES_USER and
    ES_PASSWORD, ES_CA_CERTS. A passage counts with its title and text. Of several queries those
    with a positive weight count: "bm25" adds weighted scores, "dense" adds weighted vectors,
    "sparse" fuses ranks. Searches of parallel conversations are sent as one request.
    """

    requires: ClassVar = {
        "elasticsearch": "convrag[elasticsearch]",
        "tenacity": "convrag[elasticsearch]",
    }
    engine = Elasticsearch()
    env_vars = engine.list_variables()
    option = "elasticsearch"


class OpenSearchRetriever(ClusterRetriever):
    """Search on an OpenSearch cluster: by words, vectors, weighted tokens, or two of them.

    `python -m convrag task=index retriever=opensearch` builds the index once; all else is as for
    retriever=elasticsearch, but that tokens come from files. Address and credentials come from
    environment variables alone: OPENSEARCH_URL (several nodes, separated by commas),
    OPENSEARCH_USER and OPENSEARCH_PASSWORD, OPENSEARCH_CA_CERTS; OPENSEARCH_AWS_REGION signs the
    requests with the AWS credentials that boto3 finds.
    """

    requires: ClassVar = {"opensearchpy": "convrag[opensearch]", "tenacity": "convrag[opensearch]"}
    engine = OpenSearch()
    env_vars = engine.list_variables()
    option = "opensearch"


class ElserRetriever(ElasticsearchRetriever):
    """Search with ELSER v2, which expands English texts into weighted tokens, on Elasticsearch.

    `python -m convrag task=index retriever=elser retriever.create_endpoint=true` creates the
    model's endpoint where it is missing and builds the index; the cluster needs a trial, platinum
    or enterprise licence and a node for machine learning. It is retriever=elasticsearch with other
    defaults. Several queries are searched for one by one, and their ranks are fused by weight. A
    passage counts with its title and text; of a long one ELSER reads the first 512 tokens, or all
    of it with query=semantic_text.

    Args:
        inference_id: the cluster's inference endpoint; ".elser-2-elasticsearch" is there by itself.
        chunk: of task=index: passages in a request; the model reads them all before the cluster
            answers.
    """

    option = "elser"
    index_kind = "elser"
