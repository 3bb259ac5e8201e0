"""`retriever=elasticsearch`, `opensearch` and `elser`: lexical, dense, sparse and hybrid search on
a cluster.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Interval

from convrag import (
    ConfigError,
    Dataset,
    Embedder,
    Hit,
    Passage,
    Query,
    Retriever,
    Store,
    operational,
)
from convrag.sdk.errors import NotReady, RunStopped
from convrag.sdk.identity import digest
from convrag.sdk.search.corpus import serve_passages
from convrag.sdk.search.sparse_vectors import PassageVectorFile, QueryVectorFile
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.index_builder import (
    IndexBuilder,
    IndexPlan,
    build_alias,
    build_latest_alias,
    find_index,
)
from convrag_elasticsearch.inference_endpoint import InferenceEndpoint
from convrag_elasticsearch.on_elasticsearch import Elasticsearch, VectorIndexType
from convrag_elasticsearch.on_opensearch import OpenSearch
from convrag_elasticsearch.retries import RetryPolicy
from convrag_elasticsearch.search import IndexedPassages, IndexSearcher, MultiSearch
from convrag_elasticsearch.sparse import QueryType, SparseSubquery
from convrag_elasticsearch.subqueries import (
    VECTOR_FIELDS,
    DenseSubquery,
    LexicalSubquery,
    Subquery,
    base_mapping_properties,
)

Mode = Literal["bm25", "dense", "sparse", "hybrid"]

_LAYOUT = 1
"""The version of the documents' layout: raised when it changes, so that older indexes are not
searched.
"""

_PREFIX = re.compile(r'[^-_+.A-Z\\/*?"<>| ,#:][^A-Z\\/*?"<>| ,#:]*')
"""How an index's name may begin."""


class ClusterRetriever(Retriever):
    """Search on a cluster of any engine.

    Args:
        dataset: whose corpora are searched.
        embedder: makes the vectors of "dense", and of "hybrid" with them.
        store: whose locks keep two commands from building one index at the same time.
        mode: "bm25" (words), "dense" (nearest neighbours), "sparse" (tokens, from ELSER or from
            files), or "hybrid" ("bm25" and `second`, by reciprocal rank fusion).
        second: what "hybrid" adds to "bm25": "dense" or "sparse".
        analyzer: the cluster's analyzer that makes words of texts for "bm25"; "english" drops stop
            words and stems.
        k1: saturation of term frequency: the larger, the more repeated words count. Default:
            Lucene's.
        b: normalisation by passage length, from 0 (none) to 1 (full). Default: Lucene's.
        vectors: how "dense" indexes vectors: "hnsw" (a graph: fast, misses some passages),
            "int8_hnsw" (a graph of quantised vectors: a quarter of the memory), "flat" (no graph:
            exact, and slow for many passages).
        candidates: nearest neighbours that each shard considers: more find more and take longer;
            10,000 at most.
        inference_id: Elasticsearch's inference endpoint that makes tokens for "sparse"; null takes
            those of passages and of queries from files.
        passage_vectors: JSONL file with the tokens of each passage, instead of an endpoint, as
            SPLADE makes them:
            {"id": "p1", "vector": {"moon": 1.5, "tide": 0.7}}.
        query_vectors: JSONL file with the tokens of each query, instead of an endpoint:
            {"text": "...", "vector": {...}}, or with the turn's "id" where a rewrite is a single
            query.
        query: the type of "sparse" queries with an endpoint: "sparse_vector" (one vector for each
            passage) or "semantic_text" (the cluster splits passages into chunks, and the best one
            counts).
        prune: leave frequent tokens with small weights out of "sparse" queries on Elasticsearch:
            faster, and a little worse.
        create_endpoint: let task=index create the endpoint, with `model`, where it is missing.
        model: Elasticsearch's name of the model that the endpoint is created with.
        endpoint_wait: seconds that task=index waits for a model to be downloaded and started.
        rrf_k: the constant k of reciprocal rank fusion: the larger, the less the first ranks stand
            out. Default: the seed's, and that of Cormack et al. 2009.
        depth: passages of each ranking that is fused. Default: as in most papers on fusion.
        shards: of the index. BM25 counts words within a shard, so more than one changes scores a
            little.
        replicas: copies of the index, from-to; as many as there are nodes for them
            (auto_expand_replicas).
        prefix: the beginning of each index's name.
        timeout: seconds for each attempt of a search.
        retries: how often a request is repeated that the cluster rejected (429, 502, 503, 504) or
            did not answer.
        retry_seconds: seconds of all waits between the attempts of a request together.
        window: seconds that a search waits for others, to be sent as one request.
        batch: searches in a request, at most.
        on_failure: what happens when the cluster does not answer a turn's search: "go_on" (the turn
            is a failed record) or "stop" (the run ends, and keeps what was done).
        threads: of task=index: requests at a time.
        chunk: of task=index: passages in a request.
        chunk_bytes: of task=index: bytes in a request, at most.
        index_timeout: of task=index: seconds for each request with passages.

    Raises:
        ConfigError: a parameter makes no sense.
    """

    libraries = ("numpy",)
    engine: ClassVar[Elasticsearch]
    option: ClassVar[str]
    """Its name, for messages."""

    def __init__(
        self,
        *,
        dataset: Dataset,
        embedder: Embedder,
        store: Store,
        mode: Mode = "bm25",
        second: Literal["dense", "sparse"] = "dense",
        analyzer: str = "english",
        k1: Annotated[float, Ge(0)] = 1.2,
        b: Annotated[float, Interval(ge=0, le=1)] = 0.75,
        vectors: VectorIndexType = "hnsw",
        candidates: Annotated[int, Ge(1)] = 100,
        inference_id: str | None = None,
        passage_vectors: Path | None = None,
        query_vectors: Path | None = None,
        query: QueryType = "sparse_vector",
        prune: bool = False,
        create_endpoint: Annotated[bool, operational] = False,
        model: str = ".elser_model_2",
        endpoint_wait: Annotated[float, operational] = 600.0,
        rrf_k: Annotated[int, Ge(0)] = 60,
        depth: Annotated[int, Ge(1)] = 100,
        shards: Annotated[int, Ge(1)] = 1,
        replicas: Annotated[str, operational] = "0-1",
        prefix: Annotated[str, operational] = "convrag",
        timeout: Annotated[float, operational, Ge(0.001)] = 30.0,
        retries: Annotated[int, operational, Ge(0)] = 10,
        retry_seconds: Annotated[float, operational, Ge(0)] = 60.0,
        window: Annotated[float, operational, Ge(0)] = 0.005,
        batch: Annotated[int, operational, Ge(1)] = 64,
        on_failure: Annotated[Literal["go_on", "stop"], operational] = "go_on",
        threads: Annotated[int, operational, Ge(1)] = 4,
        chunk: Annotated[int, operational, Ge(1)] = 500,
        chunk_bytes: Annotated[int, operational, Ge(1)] = 5_000_000,
        index_timeout: Annotated[float, operational, Ge(0.001)] = 120.0,
    ) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ConfigError(
                f"retriever.prefix={prefix!r} cannot begin an index's name: take lower-case letters and digits"
            )
        by_name: dict[str, Subquery] = {
            "bm25": LexicalSubquery(analyzer, k1, b),
            "dense": DenseSubquery(self.engine, embedder, vectors, candidates),
        }
        names = ["bm25", second] if mode == "hybrid" else [mode]
        if "sparse" in names:
            if problem := _find_token_problem(
                self.engine, inference_id, query, passage_vectors, query_vectors, prune
            ):
                raise ConfigError(f"retriever={self.option}: {problem}")
            endpoint = (
                InferenceEndpoint(inference_id, model, create_endpoint, endpoint_wait)
                if inference_id
                else None
            )
            by_name["sparse"] = SparseSubquery(
                self.engine,
                endpoint,
                query_type=query,
                prune=prune,
                passage_file=PassageVectorFile(passage_vectors) if passage_vectors else None,
                query_file=QueryVectorFile(query_vectors) if query_vectors else None,
            )
        self.dataset = dataset
        self.store = store
        self.subqueries = tuple(by_name[name] for name in names)
        self.shards = shards
        self.replicas = replicas
        self.prefix = prefix
        self.on_failure = on_failure
        self.cluster = Cluster(self.engine, RetryPolicy(timeout, retries, retry_seconds))
        self._index_policy = RetryPolicy(index_timeout, retries, retry_seconds)
        self._sending = {"threads": threads, "chunk": chunk, "chunk_bytes": chunk_bytes}
        self._searcher = IndexSearcher(
            self.subqueries, MultiSearch(self.cluster, window, batch), rrf_k, depth
        )
        self._kind = "elser" if isinstance(self, ElserRetriever) else "_".join(names)
        self._lock = threading.Lock()
        self._aliases: dict[str, str] = {}

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """The embedder for vectors alone."""
        searched = parameters["second"] if parameters["mode"] == "hybrid" else parameters["mode"]
        return name != "embedder" or searched == "dense"

    def check(self) -> Iterator[str]:
        for subquery in self.subqueries:
            yield from subquery.find_local_problems()
        yield from self.cluster.find_problems()

    def endpoints(self) -> Sequence[str]:
        """The cluster's addresses, without users and passwords; none where they are not valid,
        which `check` says.
        """
        connection = self.engine.read_connection()
        return (
            ()
            if any(connection.find_problems())
            else (connection.get("CLOUD_ID") or connection.shown_address,)
        )

    def prepare(self) -> None:
        """Check that the indexes and all that a search needs are on the cluster. Raises NotReady
        with all problems.

        From then on, passages are looked up there, and the corpus is not read.
        """
        problems = [
            problem
            for domain in self.dataset.domains()
            if (problem := self._find_index_problem(domain))
        ]
        if missing := [
            each
            for subquery in self.subqueries
            for each in subquery.find_cluster_problems(self.cluster)
        ]:
            problems.append(_join_problems(missing))
        if problems:
            raise NotReady([f"retriever={self.option}: {problem}" for problem in problems])
        for domain in self.dataset.domains():
            serve_passages(
                self.dataset, domain, IndexedPassages(self.cluster, self._get_alias(domain))
            )

    def index(self) -> Sequence[str]:
        """Build the index of each domain, or resume building it. Raises NotReady, ClusterError,
        DataError.
        """
        if missing := [
            each for subquery in self.subqueries for each in subquery.set_up_cluster(self.cluster)
        ]:
            raise NotReady([f"retriever={self.option}: {_join_problems(missing)}"])
        return [self._build_index(domain) for domain in self.dataset.domains()]

    def note(self) -> str:
        return " ".join(filter(None, (subquery.note() for subquery in self.subqueries)))

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = [query for query in queries if query.weight > 0 and query.text.strip()]
        if not searched or k < 1:
            return []
        try:
            return self._searcher.search(self._get_alias(searched[0].domain), searched, k)
        except ClusterError as error:
            if error.unavailable and self.on_failure == "stop":
                raise RunStopped(f"{error} The same command goes on from here.") from error
            raise

    def _find_index_problem(self, domain: str) -> str:
        """Say why a domain cannot be searched; empty where it can."""
        index = find_index(self.cluster, self._get_alias(domain))
        if index is None:
            return f"the cluster has no index of {domain!r} with these settings: run the same command with task=index"
        if not index.intact:
            count = f"{index.current_passages:,} of {index.passages:,}"
            return f"{index.name} holds only {count} passages: run the same command with task=index to build it anew"
        return ""

    def _build_index(self, domain: str) -> str:
        plan = self._plan_index(domain)
        with (
            Cluster(self.engine, self._index_policy) as bulk_cluster,
            self.store.lock([f"{self.engine.option}/{plan.alias}"]),
        ):
            builder = IndexBuilder(self.cluster, bulk_cluster, **self._sending)
            return builder.build(plan, lambda: self._read_corpus(domain), self._build_fields)

    def _read_corpus(self, domain: str) -> Iterator[Passage]:
        """Read the passages of a domain. Raises ConfigError where it has none."""
        passages = self.dataset.corpus(domain)
        if (first := next(passages, None)) is None:
            why = self.dataset.explain_missing_corpus(domain)
            raise ConfigError(
                f"the data set has no passages to search for the domain {domain!r}. {why}".rstrip()
            )
        return chain([first], passages)

    def _plan_index(self, domain: str) -> IndexPlan:
        properties = base_mapping_properties()
        settings: dict[str, Any] = {"refresh_interval": "-1", "auto_expand_replicas": self.replicas}
        if self.shards != 1:
            settings["number_of_shards"] = self.shards
        for subquery in self.subqueries:
            properties |= subquery.mapping_properties()
            settings |= subquery.index_settings()
        return IndexPlan(
            domain=domain,
            alias=self._get_alias(domain),
            latest_alias=build_latest_alias(self.prefix, domain, self._kind),
            mapping={
                "dynamic": "false",
                "_source": {"excludes": VECTOR_FIELDS},
                "properties": properties,
            },
            settings=settings,
            processors=[
                processor
                for subquery in self.subqueries
                for processor in subquery.ingest_processors()
            ],
            about={"domain": domain, "settings": self._identity()},
        )

    def _build_fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """Build the fields of all subqueries for each passage."""
        rows: list[dict[str, Any]] = [{} for _ in passages]
        for subquery in self.subqueries:
            for row, fields in zip(rows, subquery.build_fields(passages), strict=True):
                row |= fields
        return rows

    def _get_alias(self, domain: str) -> str:
        with self._lock:
            if domain not in self._aliases:
                fingerprint = digest([self._identity(), self.dataset.corpus_fingerprint(domain)])
                self._aliases[domain] = build_alias(self.prefix, domain, self._kind, fingerprint)
            return self._aliases[domain]

    def _identity(self) -> dict[str, Any]:
        """Return what decides what an index holds, beside the corpus.

        It is hashed into the index's name, so its keys stay as they are ("legs" are the
        subqueries): with others, indexes that exist would not be found.
        """
        subqueries = [subquery.identity() for subquery in self.subqueries]
        return {"layout": _LAYOUT, "shards": self.shards, "legs": subqueries}


class ElasticsearchRetriever(ClusterRetriever):
    """Search on an Elasticsearch cluster: by words, by vectors, by weighted tokens, or by two of them together.

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
    """Search on an OpenSearch cluster: by words, by vectors, by weighted tokens, or by two of them together.

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
    """Search with ELSER v2 on an Elasticsearch cluster: a model that expands texts into weighted tokens (English).

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


def _find_token_problem(
    engine: Elasticsearch,
    inference_id: str | None,
    query: str,
    passages: object,
    queries: object,
    prune: bool,
) -> str:
    """Say why there are no tokens for "sparse"; empty where an endpoint or files have all."""
    if not engine.has_endpoints and (inference_id or query == "semantic_text" or prune):
        return (
            "inference_id, query=semantic_text and prune are Elasticsearch's: set retriever.passage_vectors and "
            "retriever.query_vectors to files with tokens"
        )
    if query == "semantic_text" and (passages or queries or not inference_id):
        return "query=semantic_text: an endpoint makes all tokens: set retriever.inference_id alone"
    if inference_id or (passages and queries):
        return ""
    missing = "query_vectors" if passages else "passage_vectors"
    return (
        "tokens come from an endpoint or from files: set retriever.inference_id to an endpoint of the cluster, "
        f"or retriever.{missing} to a file of them (retriever=elser is set up for it)"
    )


def _join_problems(problems: Sequence[str]) -> str:
    return "\n  - ".join(
        ["the cluster cannot make the tokens that this needs:", *dict.fromkeys(problems)]
    )
