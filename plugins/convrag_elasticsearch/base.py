"""The base of the retrievers on a cluster: checks, indexing and searching, with whatever subqueries."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from convrag import DataError, Dataset, Hit, Passage, Query, Retriever, Store
from convrag.sdk.errors import NotReady, RunStopped
from convrag.sdk.identity import digest
from convrag_elasticsearch.connection import ENVIRONMENT_VARIABLES, Connection
from convrag_elasticsearch.documents import VECTOR_FIELDS, base_mapping_properties
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.index_builder import build_alias, build_latest_alias, find_index
from convrag_elasticsearch.settings import FusionSettings, OperationSettings, check_settings
from convrag_elasticsearch.subqueries import Subquery

if TYPE_CHECKING:
    from convrag_elasticsearch.index_builder import IndexPlan

_LAYOUT = 1
"""The version of the documents' layout: raised when it changes, so that older indexes are not searched."""


class ClusterRetriever(Retriever):
    """Searches an index of each domain on the cluster.

    Args:
        option: its name, for messages.
        kind: part of the indexes' names.
        dataset: whose corpora are searched.
        store: whose locks keep two commands from building one index at a time.
        subqueries: one, or the two of a hybrid.
        fusion: how rankings are fused.
        operation: how indexes are kept, and how requests are sent.

    Raises:
        ConfigError: a number lies outside of its range.
    """

    requires: ClassVar[Mapping[str, str]] = dict.fromkeys(("elasticsearch", "tenacity"), "convrag[elasticsearch]")
    env_vars = ENVIRONMENT_VARIABLES

    def __init__(
        self,
        *,
        option: str,
        kind: str,
        dataset: Dataset,
        store: Store,
        subqueries: Sequence[Subquery],
        fusion: FusionSettings,
        operation: OperationSettings,
    ) -> None:
        from convrag_elasticsearch.cluster import Cluster
        from convrag_elasticsearch.retries import RetryPolicy
        from convrag_elasticsearch.search import IndexSearcher, MultiSearch

        check_settings(option, fusion, operation)
        self.option = option
        self.kind = kind
        self.dataset = dataset
        self.store = store
        self.subqueries = tuple(subqueries)
        self.fusion = fusion
        self.operation = operation
        self.cluster = Cluster(RetryPolicy(operation.timeout, operation.retries, operation.retry_seconds))
        multi_search = MultiSearch(self.cluster, operation.window, operation.batch)
        self._searcher = IndexSearcher(self.subqueries, fusion, multi_search)
        self._lock = threading.Lock()
        self._aliases: dict[str, str] = {}

    def check(self) -> Iterator[str]:
        for domain in self.dataset.domains():
            try:
                if next(iter(self.dataset.corpus(domain)), None) is None:
                    yield f"the data set has no passages to search for the domain {domain!r}."
            except DataError as error:
                yield str(error)
        for subquery in self.subqueries:
            yield from subquery.find_local_problems()
        yield from self.cluster.find_problems()

    def endpoints(self) -> Sequence[str]:
        """The cluster's addresses, without users and passwords; none where they are not valid, which `check` says."""
        connection = Connection.from_environment()
        return () if any(connection.find_problems()) else (connection.cloud_id or connection.shown_address,)

    def prepare(self) -> None:
        """Check that the indexes and all that a search needs are on the cluster. Raises NotReady with all problems."""
        problems = [problem for domain in self.dataset.domains() if (problem := self._find_index_problem(domain))]
        if missing := [each for subquery in self.subqueries for each in subquery.find_cluster_problems(self.cluster)]:
            problems.append(_join_problems(missing))
        if problems:
            raise NotReady([f"retriever={self.option}: {problem}" for problem in problems])

    def index(self) -> Sequence[str]:
        """Build the index of each domain, or resume building it. Raises NotReady, ClusterError, DataError."""
        if missing := [each for subquery in self.subqueries for each in subquery.set_up_cluster(self.cluster)]:
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
            if error.unavailable and self.operation.on_failure == "stop":
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
        from convrag_elasticsearch.cluster import Cluster
        from convrag_elasticsearch.index_builder import IndexBuilder
        from convrag_elasticsearch.retries import RetryPolicy

        operation = self.operation
        plan = self._plan_index(domain)
        policy = RetryPolicy(operation.index_timeout, operation.retries, operation.retry_seconds)
        with Cluster(policy) as bulk_cluster, self.store.lock([f"elasticsearch/{plan.alias}"]):
            builder = IndexBuilder(self.cluster, bulk_cluster, operation)
            return builder.build(plan, lambda: self.dataset.corpus(domain), self._build_fields)

    def _plan_index(self, domain: str) -> IndexPlan:
        from convrag_elasticsearch.index_builder import IndexPlan

        properties = base_mapping_properties()
        settings: dict[str, Any] = {"refresh_interval": "-1", "auto_expand_replicas": self.operation.replicas}
        if self.operation.shards != 1:
            settings["number_of_shards"] = self.operation.shards
        for subquery in self.subqueries:
            properties |= subquery.mapping_properties()
            settings |= subquery.index_settings()
        return IndexPlan(
            domain=domain,
            alias=self._get_alias(domain),
            latest_alias=build_latest_alias(self.operation.prefix, domain, self.kind),
            mapping={"dynamic": "false", "_source": {"excludes": VECTOR_FIELDS}, "properties": properties},
            settings=settings,
            processors=[processor for subquery in self.subqueries for processor in subquery.ingest_processors()],
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
                self._aliases[domain] = build_alias(self.operation.prefix, domain, self.kind, fingerprint)
            return self._aliases[domain]

    def _identity(self) -> dict[str, Any]:
        """Return what decides what an index holds, beside the corpus.

        It is hashed into the index's name, so its keys stay as they are ("legs" are the subqueries): with others,
        indexes that exist would not be found.
        """
        subqueries = [subquery.identity() for subquery in self.subqueries]
        return {"layout": _LAYOUT, "shards": self.operation.shards, "legs": subqueries}


def _join_problems(problems: Sequence[str]) -> str:
    return "\n  - ".join(["the cluster cannot make the tokens that this needs:", *dict.fromkeys(problems)])
