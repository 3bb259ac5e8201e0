"""`retriever=elasticsearch`: words, vectors, tokens, or two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from convrag.registry.parameters import operational

from convrag import ConfigError, Dataset, Embedder, Store
from convrag_elasticsearch.base import ClusterRetriever
from convrag_elasticsearch.dense import Dense, Vectors
from convrag_elasticsearch.endpoint import Endpoint
from convrag_elasticsearch.legs import Leg
from convrag_elasticsearch.lexical import Lexical
from convrag_elasticsearch.settings import Fusing, Fusion, OnFailure, Operation, check_ranges
from convrag_elasticsearch.sparse import Sparse
from convrag_elasticsearch.token_files import PassageTokens, QueryTokens

Mode = Literal["bm25", "dense", "sparse", "hybrid"]


class ElasticsearchRetriever(ClusterRetriever):
    """Search on an Elasticsearch cluster: by words, by vectors, by weighted tokens, or by two of them together.

    `python -m convrag task=index retriever=elasticsearch` builds the index once; several settings may have theirs side
    by side. Where the cluster is, and who asks, is said by the environment alone: ES_URL (several nodes with commas) or
    ES_CLOUD_ID, ES_API_KEY or ES_USER and ES_PASSWORD, ES_CA_CERTS. A passage counts with its title and text. Of
    several queries those with a positive weight count: "bm25" adds weighted scores, "dense" adds weighted vectors,
    "sparse" fuses ranks. Searches of conversations that go on side by side travel together.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of "dense", and of "hybrid" with them.
        store: whose locks keep two commands from building one index at a time.
        mode: "bm25" (words), "dense" (nearest neighbours), "sparse" (tokens, from ELSER or from files), or "hybrid"
            (words and `second`, by reciprocal ranks).
        second: what "hybrid" adds to words: "dense" or "sparse".
        analyzer: makes words of texts for "bm25", by Elasticsearch's names; "english" drops stop words and stems.
        k1: how slowly further occurrences of a word stop counting. Default: Lucene's.
        b: how much long passages are held back, from 0 to 1. Default: Lucene's.
        vectors: how "dense" keeps vectors: "hnsw" (a graph: fast, misses some passages), "int8_hnsw" (the same, rounded
            to a quarter of the memory), "flat" (no graph: exact, and slow for many passages).
        candidates: neighbours that each shard looks at in a graph; more find more and take longer, 10,000 at most.
        inference_id: the cluster's inference endpoint that makes tokens for "sparse"; null takes both from files.
        passage_vectors: JSONL file with the tokens of each passage instead, as SPLADE makes them:
            {"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}.
        query_vectors: JSONL file with the tokens of each query instead: {"text": "...", "vector": {...}}, or with the
            turn's "id" where a rewrite is one query.
        prune: leave out tokens of little weight when searching by tokens: faster, and a little worse.
        create_endpoint: let task=index create the endpoint, with ELSER, where it is missing.
        model: what it creates it with, by Elasticsearch's names.
        endpoint_wait: seconds that task=index waits for a model to be downloaded and started.
        fusion: who fuses the two rankings of "hybrid": "server" (needs an enterprise or trial licence), "client", or
            "auto", which asks for the licence. They compute the same scores.
        rrf_k: how little the first ranks stand out. Default: the seed's, and that of Cormack et al. 2009.
        depth: passages of each ranking that is fused. Default: as in most papers on fusion.
        shards: of the index. Words are weighed within a shard, so more than one change scores a little.
        replicas: copies of the index, from-to: as many as there are nodes for them (auto_expand_replicas).
        prefix: begins the name of each index.
        timeout: seconds for each try of a search.
        retries: how often a request is repeated that the cluster turned away (429, 502, 503, 504) or did not answer.
        retry_seconds: to wait between the tries of a request, in all.
        window: seconds that a search waits for others to travel with.
        batch: searches that travel together at most.
        on_failure: what a turn whose search the cluster did not answer means for the run: "go_on" (a failed record) or
            "stop" (with all that was done kept).
        threads: of task=index: requests on their way at a time.
        chunk: of task=index: passages in a request.
        chunk_bytes: of task=index: bytes in a request, at most.
        index_timeout: of task=index: seconds for each request with passages.

    Raises:
        ConfigError: a parameter makes no sense.
    """

    def __init__(
        self,
        *,
        dataset: Dataset,
        embedder: Embedder,
        store: Store,
        mode: Mode = "bm25",
        second: Literal["dense", "sparse"] = "dense",
        analyzer: str = "english",
        k1: float = 1.2,
        b: float = 0.75,
        vectors: Vectors = "hnsw",
        candidates: int = 100,
        inference_id: str | None = None,
        passage_vectors: Path | None = None,
        query_vectors: Path | None = None,
        prune: bool = False,
        create_endpoint: Annotated[bool, operational] = False,
        model: str = ".elser_model_2",
        endpoint_wait: Annotated[float, operational] = 600.0,
        fusion: Fusion = "auto",
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
        threads: Annotated[int, operational] = 4,
        chunk: Annotated[int, operational] = 500,
        chunk_bytes: Annotated[int, operational] = 5_000_000,
        index_timeout: Annotated[float, operational] = 120.0,
    ) -> None:
        check_ranges("elasticsearch", k1=(k1, 0), b=(b, 0), candidates=(candidates, 1))
        if b > 1:
            raise ConfigError(f"retriever=elasticsearch: b={b} makes no sense; it must be between 0 and 1.")
        by_name: dict[str, Leg] = {
            "bm25": Lexical(analyzer, k1, b),
            "dense": Dense(embedder, vectors, candidates),
        }
        names = ["bm25", second] if mode == "hybrid" else [mode]
        if "sparse" in names:
            endpoint = _endpoint(inference_id, passage_vectors, query_vectors, model, create_endpoint, endpoint_wait)
            by_name["sparse"] = Sparse(
                endpoint,
                prune=prune,
                passages=PassageTokens(passage_vectors, store) if passage_vectors else None,
                queries=QueryTokens(query_vectors) if query_vectors else None,
            )
        super().__init__(
            option="elasticsearch",
            kind="_".join(names),
            dataset=dataset,
            store=store,
            legs=[by_name[name] for name in names],
            fusing=Fusing(rrf_k, depth, fusion),
            operation=Operation(
                prefix,
                shards,
                replicas,
                timeout,
                retries,
                retry_seconds,
                window,
                batch,
                on_failure,
                threads,
                chunk,
                chunk_bytes,
                index_timeout,
            ),
        )


def _endpoint(
    inference_id: str | None, passages: Path | None, queries: Path | None, model: str, create: bool, wait: float
) -> Endpoint | None:
    """Who makes tokens where files do not. Raises ConfigError where nobody does."""
    if inference_id:
        return Endpoint(inference_id, model=model, create=create, wait=wait)
    if passages and queries:
        return None
    missing = "query_vectors" if passages else "passage_vectors"
    raise ConfigError(
        "retriever=elasticsearch: tokens need somebody who makes them: set retriever.inference_id to an inference "
        f"endpoint of the cluster, or retriever.{missing} to a file of them (retriever=elser is set up for ELSER)"
    )
