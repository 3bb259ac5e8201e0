"""`retriever=elasticsearch`: lexical, dense, sparse and hybrid search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from convrag import ConfigError, Dataset, Embedder, Passage, Query, Store, operational
from convrag.sdk.queries import combine_vectors, embed_uncached
from convrag_elasticsearch.base import ClusterRetriever
from convrag_elasticsearch.documents import CONTENT
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.settings import FusionSettings, OnFailure, OperationSettings, check_ranges
from convrag_elasticsearch.sparse import SparseSubquery
from convrag_elasticsearch.sparse_vector_files import PassageVectorFile, QueryVectorFile
from convrag_elasticsearch.subqueries import Subquery, WeightedSearch

Mode = Literal["bm25", "dense", "sparse", "hybrid"]


class ElasticsearchRetriever(ClusterRetriever):
    """Search on an Elasticsearch cluster: by words, by vectors, by weighted tokens, or by two of them together.

    `python -m convrag task=index retriever=elasticsearch` builds the index once; several settings may have theirs side
    by side. Address and credentials come from environment variables alone: ES_URL (several nodes, separated by commas)
    or ES_CLOUD_ID, ES_API_KEY or ES_USER and ES_PASSWORD, ES_CA_CERTS. A passage counts with its title and text. Of
    several queries those with a positive weight count: "bm25" adds weighted scores, "dense" adds weighted vectors,
    "sparse" fuses ranks. Searches of parallel conversations are sent as one request.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of "dense", and of "hybrid" with them.
        store: whose locks keep two commands from building one index at the same time.
        mode: "bm25" (words), "dense" (nearest neighbours), "sparse" (tokens, from ELSER or from files), or "hybrid"
            ("bm25" and `second`, by reciprocal rank fusion).
        second: what "hybrid" adds to "bm25": "dense" or "sparse".
        analyzer: Elasticsearch's analyzer that makes words of texts for "bm25"; "english" drops stop words and stems.
        k1: saturation of term frequency: the larger, the more repeated words count. Default: Lucene's.
        b: normalisation by passage length, from 0 (none) to 1 (full). Default: Lucene's.
        vectors: how "dense" indexes vectors: "hnsw" (a graph: fast, misses some passages), "int8_hnsw" (a graph of
            quantised vectors: a quarter of the memory), "flat" (no graph: exact, and slow for many passages).
        candidates: nearest neighbours that each shard considers (num_candidates): more find more and take longer;
            10,000 at most.
        inference_id: the inference endpoint that makes tokens for "sparse"; null takes those of passages and of queries
            from files.
        passage_vectors: JSONL file with the tokens of each passage, instead of an endpoint, as SPLADE makes them:
            {"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}.
        query_vectors: JSONL file with the tokens of each query, instead of an endpoint:
            {"text": "...", "vector": {...}}, or with the turn's "id" where a rewrite is a single query.
        prune: leave tokens with small weights out of "sparse" queries: faster, and a little worse.
        create_endpoint: let task=index create the endpoint, with `model`, where it is missing.
        model: Elasticsearch's name of the model that the endpoint is created with.
        endpoint_wait: seconds that task=index waits for a model to be downloaded and started.
        rrf_k: the constant k of reciprocal rank fusion: the larger, the less the first ranks stand out. Default: the
            seed's, and that of Cormack et al. 2009.
        depth: passages of each ranking that is fused. Default: as in most papers on fusion.
        shards: of the index. BM25 counts words within a shard, so more than one changes scores a little.
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
        chunk: of task=index: passages in a request.
        chunk_bytes: of task=index: bytes in a request, at most.
        index_timeout: of task=index: seconds for each request with passages.

    Raises:
        ConfigError: a parameter makes no sense.
    """

    libraries = ("numpy",)

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
        vectors: VectorIndexType = "hnsw",
        candidates: int = 100,
        inference_id: str | None = None,
        passage_vectors: Path | None = None,
        query_vectors: Path | None = None,
        prune: bool = False,
        create_endpoint: Annotated[bool, operational] = False,
        model: str = ".elser_model_2",
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
        threads: Annotated[int, operational] = 4,
        chunk: Annotated[int, operational] = 500,
        chunk_bytes: Annotated[int, operational] = 5_000_000,
        index_timeout: Annotated[float, operational] = 120.0,
    ) -> None:
        operation = OperationSettings.pick(locals())
        check_ranges("elasticsearch", k1=(k1, 0), b=(b, 0), candidates=(candidates, 1))
        if b > 1:
            raise ConfigError(f"retriever=elasticsearch: b={b} makes no sense; it must be between 0 and 1.")
        by_name: dict[str, Subquery] = {
            "bm25": LexicalSubquery(analyzer, k1, b),
            "dense": DenseSubquery(embedder, vectors, candidates),
        }
        names = ["bm25", second] if mode == "hybrid" else [mode]
        if "sparse" in names:
            endpoint = _make_endpoint(
                inference_id, passage_vectors, query_vectors, model, create_endpoint, endpoint_wait
            )
            by_name["sparse"] = SparseSubquery(
                endpoint,
                prune=prune,
                passage_file=PassageVectorFile(passage_vectors) if passage_vectors else None,
                query_file=QueryVectorFile(query_vectors) if query_vectors else None,
            )
        super().__init__(
            option="elasticsearch",
            kind="_".join(names),
            dataset=dataset,
            store=store,
            subqueries=[by_name[name] for name in names],
            fusion=FusionSettings(rrf_k, depth),
            operation=operation,
        )


def _make_endpoint(
    inference_id: str | None, passages: Path | None, queries: Path | None, model: str, create: bool, wait: float
) -> InferenceEndpoint | None:
    """Make the endpoint, where files do not have all tokens. Raises ConfigError where neither is set."""
    if inference_id:
        return InferenceEndpoint(inference_id, model=model, create=create, wait=wait)
    if passages and queries:
        return None
    missing = "query_vectors" if passages else "passage_vectors"
    raise ConfigError(
        "retriever=elasticsearch: tokens come from an endpoint or from files: set retriever.inference_id to an "
        f"inference endpoint of the cluster, or retriever.{missing} to a file of them (retriever=elser is set up for "
        "ELSER)"
    )


_SIMILARITY = "passages"


class LexicalSubquery(Subquery):
    """Searches by words. Several queries add up: a passage's score is the sum of weight times score.

    Args:
        analyzer: the analyzer that makes words of texts.
        k1: saturation of term frequency.
        b: normalisation by passage length.
    """

    searches_by = "lexical"

    def __init__(self, analyzer: str, k1: float, b: float) -> None:
        self.analyzer = analyzer
        self.k1 = k1
        self.b = b

    def identity(self) -> Mapping[str, Any]:
        return {"leg": "bm25", "analyzer": self.analyzer, "k1": self.k1, "b": self.b}

    def mapping_properties(self) -> dict[str, Any]:
        return {CONTENT: {"type": "text", "analyzer": self.analyzer, "similarity": _SIMILARITY}}

    def index_settings(self) -> dict[str, Any]:
        return {"similarity": {_SIMILARITY: {"type": "BM25", "k1": self.k1, "b": self.b}}}

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        matches = [{"match": {CONTENT: {"query": query.text, "boost": query.weight}}} for query in queries]
        if not matches:
            return []
        return [WeightedSearch({"query": matches[0] if len(matches) == 1 else {"bool": {"should": matches}}})]


VectorIndexType = Literal["hnsw", "int8_hnsw", "flat"]


class DenseSubquery(Subquery):
    """Searches by vectors. Several queries become one: the sum of weight times vector, scaled to unit length.

    Scores are cosines.

    Args:
        embedder: makes the vectors of passages and queries.
        vectors: how they are indexed: a graph ("hnsw"), a graph of quantised vectors ("int8_hnsw"), or none ("flat").
        candidates: nearest neighbours that each shard considers (num_candidates).
    """

    def __init__(self, embedder: Embedder, vectors: VectorIndexType, candidates: int) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self.candidates = candidates
        # An embedder that was built by hand has no fingerprint to share an index by: it gets an index of its own.
        self._unique_id = uuid4().hex

    def identity(self) -> Mapping[str, Any]:
        return {"leg": "dense", "embedder": self.embedder.fingerprint or self._unique_id, "vectors": self.vectors}

    def mapping_properties(self) -> dict[str, Any]:
        vector = {
            "type": "dense_vector",
            "dims": int(self.embedder.embed(["dimensions"]).shape[1]),
            "index": True,
            "similarity": "cosine",
            "index_options": {"type": self.vectors},
        }
        return {"vector": vector}

    def build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Embed passages. A passage of which the embedder knows nothing gets no vector, and is not found by one."""
        rows = embed_uncached(self.embedder, [passage.content for passage in passages])
        return [{"vector": row.tolist()} if row.any() else {} for row in rows]

    def build_searches(self, queries: Sequence[Query], size: int) -> list[WeightedSearch]:
        vector = combine_vectors(self.embedder, queries)
        if vector is None:
            return []
        knn = {"field": "vector", "query_vector": vector.tolist(), "k": size}
        return [WeightedSearch({"knn": knn | {"num_candidates": max(self.candidates, size)}})]

    def convert_score(self, score: float) -> float:
        return 2 * score - 1  # Elasticsearch has no negative scores: it returns (1 + cosine) / 2

    def note(self) -> str:
        return "" if self.vectors == "flat" else f"The vector search is approximate ({self.vectors})."
