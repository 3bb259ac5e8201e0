"""`retriever=elser`: search with ELSER, Elastic's learned sparse encoder."""

from typing import Annotated

from convrag import Dataset, Store, operational
from convrag_elasticsearch.base import ClusterRetriever
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.settings import FusionSettings, OnFailure, OperationSettings
from convrag_elasticsearch.sparse import QueryType, SparseSubquery


class ElserRetriever(ClusterRetriever):
    """Search with ELSER v2 on an Elasticsearch cluster: a model that expands texts into weighted tokens (English).

    `python -m convrag task=index retriever=elser retriever.create_endpoint=true` creates the model's endpoint where it
    is missing and builds the index; the cluster needs a trial, platinum or enterprise licence and a node for machine
    learning. For address and credentials, see retriever=elasticsearch. Several queries are searched for one by one, and
    their ranks are fused by weight. A passage counts with its title and text; of a long one ELSER reads the first 512
    tokens, or all of it with query=semantic_text.

    Args:
        dataset: whose corpora are searched.
        store: whose locks keep two commands from building one index at the same time.
        inference_id: the cluster's inference endpoint; ".elser-2-elasticsearch" is there by itself.
        query: the type of query: "sparse_vector" (one vector for each passage) or "semantic_text" (the cluster splits
            passages into chunks, and the best one counts).
        prune: leave tokens with small weights out of "sparse_vector" queries: faster, and a little worse.
        model: what the endpoint is created with.
        create_endpoint: let task=index create the endpoint where it is missing.
        endpoint_wait: seconds that task=index waits for the model to be downloaded and started.
        rrf_k: the constant k of reciprocal rank fusion, for several queries: the larger, the less the first ranks stand
            out. Default: that of Cormack et al. 2009.
        depth: passages of each ranking that is fused.
        shards: of the index.
        replicas: copies of the index, from-to; as many as there are nodes for them (auto_expand_replicas).
        prefix: the beginning of each index's name.
        timeout: seconds for each attempt of a search.
        retries: how often a request is repeated that the cluster rejected (429, 502, 503, 504) or did not answer.
        retry_seconds: seconds of all waits between the attempts of a request together.
        window: seconds that a search waits for others, to be sent as one request.
        batch: searches in a request, at most.
        on_failure: what happens when the cluster does not answer a turn's search: "go_on" (the turn is a failed record)
            or "stop" (the run ends, and keeps what was done).
        threads: of task=index: requests at a time.
        chunk: of task=index: passages in a request; the model reads them all before the cluster answers.
        chunk_bytes: of task=index: bytes in a request, at most.
        index_timeout: of task=index: seconds for each request with passages.

    Raises:
        ConfigError: a parameter makes no sense.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        store: Store,
        inference_id: str = "convrag-elser",
        query: QueryType = "sparse_vector",
        prune: bool = False,
        model: str = ".elser_model_2",
        create_endpoint: Annotated[bool, operational] = False,
        endpoint_wait: Annotated[float, operational] = 600.0,
        rrf_k: int = 60,
        depth: int = 100,
        shards: int = 1,
        replicas: Annotated[str, operational] = "0-1",
        prefix: Annotated[str, operational] = "convrag",
        timeout: Annotated[float, operational] = 30.0,
        retries: Annotated[int, operational] = 5,
        retry_seconds: Annotated[float, operational] = 60.0,
        window: Annotated[float, operational] = 0.005,
        batch: Annotated[int, operational] = 64,
        on_failure: Annotated[OnFailure, operational] = "go_on",
        threads: Annotated[int, operational] = 2,
        chunk: Annotated[int, operational] = 32,
        chunk_bytes: Annotated[int, operational] = 1_000_000,
        index_timeout: Annotated[float, operational] = 300.0,
    ) -> None:
        operation = OperationSettings.pick(locals())
        endpoint = InferenceEndpoint(inference_id, model=model, create=create_endpoint, wait=endpoint_wait)
        super().__init__(
            option="elser",
            kind="elser",
            dataset=dataset,
            store=store,
            subqueries=[SparseSubquery(endpoint, query_type=query, prune=prune)],
            fusion=FusionSettings(rrf_k, depth),
            operation=operation,
        )
