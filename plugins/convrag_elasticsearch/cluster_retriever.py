"""The base of the retrievers: lexical, dense, sparse and hybrid search on a cluster."""

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
    Store,
    operational,
)
from convrag.sdk.errors import NotReady, RunStopped
from convrag.sdk.identity import digest
from convrag.sdk.search.corpus import serve_passages
from convrag.sdk.search.filtering import FilteringRetriever, RetrieverFilter
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.complete_index import find_index
from convrag_elasticsearch.dense import DenseSubquery
from convrag_elasticsearch.elasticsearch_engine import Elasticsearch, VectorIndexType
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.filters import build_clause
from convrag_elasticsearch.index_builder import IndexBuilder
from convrag_elasticsearch.index_names import build_alias, build_latest_alias
from convrag_elasticsearch.index_plan import (
    IndexPlan,
    list_processors,
    make_mapping,
    make_settings,
)
from convrag_elasticsearch.indexed_passages import IndexedPassages
from convrag_elasticsearch.lexical import LexicalSubquery
from convrag_elasticsearch.multi_search import MultiSearch
from convrag_elasticsearch.retries import RetryPolicy
from convrag_elasticsearch.search import IndexSearcher
from convrag_elasticsearch.sparse import QueryType, SparseSettings, SparseSubquery
from convrag_elasticsearch.subquery import Subquery

Mode = Literal["bm25", "dense", "sparse", "hybrid"]

_LAYOUT = 1
"""The version of the documents' layout.

It is raised when the layout changes, so that older indexes are not searched.
"""

_PREFIX = re.compile(r'[^-_+.A-Z\\/*?"<>| ,#:][^A-Z\\/*?"<>| ,#:]*')
"""The beginning that an index's name may have."""


class ClusterRetriever(FilteringRetriever):
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
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
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
    index_kind: ClassVar[str] = ""
    """The kind in its indexes' names; empty takes the names of what is searched."""

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
        endpoint_wait: Annotated[float, Ge(0), operational] = 600.0,
        rrf_k: Annotated[int, Ge(0)] = 60,
        depth: Annotated[int, Ge(1)] = 100,
        filter: str | None = None,
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
                f"retriever.prefix={prefix!r} cannot begin an index's name: take lower-case "
                "letters and digits"
            )
        sparse_settings = SparseSettings(
            inference_id=inference_id,
            model=model,
            create_endpoint=create_endpoint,
            endpoint_wait=endpoint_wait,
            query_type=query,
            prune=prune,
            passage_vectors=passage_vectors,
            query_vectors=query_vectors,
        )
        names = ["bm25", second] if mode == "hybrid" else [mode]
        subqueries: list[Subquery] = []
        for name in names:
            if name == "bm25":
                subqueries.append(LexicalSubquery(analyzer, k1, b))
            elif name == "dense":
                subqueries.append(DenseSubquery(self.engine, embedder, vectors, candidates))
            else:
                subqueries.append(self._make_sparse_subquery(sparse_settings))
        self.subqueries = tuple(subqueries)
        self.dataset = dataset
        self.store = store
        self.filters = RetrieverFilter(filter, dataset, store, check_index=self._require_fields)
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
        self._kind = self.index_kind or "_".join(names)
        self._lock = threading.Lock()
        self._aliases: dict[str, str] = {}

    def _make_sparse_subquery(self, settings: SparseSettings) -> SparseSubquery:
        """Make the sparse subquery. Raises ConfigError where there are no tokens for it."""
        problem = settings.find_problem(self.engine)
        if problem:
            raise ConfigError(f"retriever={self.option}: {problem}")
        return settings.make_subquery(self.engine)

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """Use the embedder for vectors alone."""
        searched = parameters["second"] if parameters["mode"] == "hybrid" else parameters["mode"]
        return name != "embedder" or searched == "dense"

    def check(self) -> Iterator[str]:
        for subquery in self.subqueries:
            yield from subquery.find_local_problems()
        yield from self.cluster.find_problems()

    def endpoints(self) -> Sequence[str]:
        """Return the cluster's addresses, without users and passwords.

        There are none where the variables are not valid, which `check` says.
        """
        connection = self.engine.read_connection()
        if any(connection.find_problems()):
            return ()
        return (connection.get("CLOUD_ID") or connection.shown_address,)

    def prepare(self) -> None:
        """Check that the indexes and all that a search needs are on the cluster.

        From then on, passages are looked up there, and the corpus is not read.

        Raises:
            NotReady: something is missing; all problems are named.
        """
        domains = self.dataset.domains()
        problems = [each for domain in domains for each in self._find_index_problems(domain)]
        missing: list[str] = []
        for subquery in self.subqueries:
            missing += subquery.find_cluster_problems(self.cluster)
        if missing:
            problems.append(_join_problems(missing))
        if problems:
            raise NotReady([f"retriever={self.option}: {problem}" for problem in problems])
        for domain in domains:
            passages = IndexedPassages(self.cluster, self._get_alias(domain))
            serve_passages(self.dataset, domain, passages)
        self.filters.prepare()

    def index(self) -> Sequence[str]:
        """Build the index of each domain, or resume building it.

        Raises:
            NotReady, ClusterError, DataError: an index cannot be built.
        """
        missing: list[str] = []
        for subquery in self.subqueries:
            missing += subquery.set_up_cluster(self.cluster)
        if missing:
            raise NotReady([f"retriever={self.option}: {_join_problems(missing)}"])
        return [self._build_index(domain) for domain in self.dataset.domains()]

    def note(self) -> str:
        notes = [subquery.note() for subquery in self.subqueries]
        return " ".join(note for note in notes if note)

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = [query for query in queries if query.weight > 0 and query.text.strip()]
        if not searched or k < 1:
            return []
        condition = self.filters.find_condition(searched)
        clause = None if condition is None else build_clause(condition)
        try:
            return self._searcher.search(self._get_alias(searched[0].domain), searched, k, clause)
        except ClusterError as error:
            if error.unavailable and self.on_failure == "stop":
                raise RunStopped(f"{error} The same command goes on from here.") from error
            raise

    def _require_fields(self, domain: str) -> None:
        """Raise ConfigError where the index of a domain was built before passages had fields."""
        index = find_index(self.cluster, self._get_alias(domain))
        if index is not None and not index.has_fields:
            raise ConfigError(
                f"{index.name} was built before passages had fields, so it cannot be filtered: "
                f"delete it (DELETE /{index.name}), and run the same command with task=index"
            )

    def _find_index_problems(self, domain: str) -> Iterator[str]:
        """Yield why a domain cannot be searched."""
        index = find_index(self.cluster, self._get_alias(domain))
        if index is None:
            yield (
                f"the cluster has no index of {domain!r} with these settings: run the same command "
                "with task=index"
            )
        elif not index.intact:
            count = f"{index.current_passages:,} of {index.passages:,}"
            yield (
                f"{index.name} holds only {count} passages: run the same command with task=index "
                "to build it anew"
            )

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
        first = next(passages, None)
        if first is None:
            why = self.dataset.explain_missing_corpus(domain)
            raise ConfigError(
                f"the data set has no passages to search for the domain {domain!r}. {why}".rstrip()
            )
        return chain([first], passages)

    def _plan_index(self, domain: str) -> IndexPlan:
        return IndexPlan(
            domain=domain,
            alias=self._get_alias(domain),
            latest_alias=build_latest_alias(self.prefix, domain, self._kind),
            mapping=make_mapping(self.subqueries),
            settings=make_settings(self.subqueries, self.shards, self.replicas),
            processors=list_processors(self.subqueries),
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
        """Return what decides what an index holds, next to the corpus.

        It is hashed into the index's name, so its keys stay as they are ("legs" are the
        subqueries): with others, indexes that exist would not be found.
        """
        subqueries = [subquery.identity() for subquery in self.subqueries]
        return {"layout": _LAYOUT, "shards": self.shards, "legs": subqueries}


def _join_problems(problems: Sequence[str]) -> str:
    return "\n  - ".join(
        ["the cluster cannot make the tokens that this needs:", *dict.fromkeys(problems)]
    )
