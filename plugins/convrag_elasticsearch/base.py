"""What the retrievers on a cluster share: checking, indexing and searching, whatever their legs are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from convrag import DataError, Dataset, Hit, NotReady, Passage, Query, Retriever, RunStopped, Store
from convrag.store.fingerprint import digest
from convrag_elasticsearch.connection import VARIABLES
from convrag_elasticsearch.documents import VECTORS, base_properties
from convrag_elasticsearch.failures import ClusterError
from convrag_elasticsearch.legs import Leg
from convrag_elasticsearch.names import alias_of, latest_of
from convrag_elasticsearch.settings import Fusing, Operation, check_settings

if TYPE_CHECKING:
    from convrag_elasticsearch.building import Plan
    from convrag_elasticsearch.licence import Licence

_LAYOUT = 1
"""Counts up when documents are laid out in another way, so that older indexes are not searched."""


class ClusterRetriever(Retriever):
    """Searches an index of each domain on the cluster.

    Args:
        option: its name, for messages.
        kind: what stands in the names of indexes.
        dataset: whose corpora are searched.
        store: whose locks keep two commands from building one index at a time.
        legs: one way of searching, or two.
        fusing: how rankings become one.
        operation: everything else.

    Raises:
        ConfigError: a number lies outside of its range.
    """

    requires: ClassVar[Mapping[str, str]] = dict.fromkeys(("elasticsearch", "tenacity"), "convrag[elasticsearch]")
    env_vars = VARIABLES

    def __init__(
        self,
        *,
        option: str,
        kind: str,
        dataset: Dataset,
        store: Store,
        legs: Sequence[Leg],
        fusing: Fusing,
        operation: Operation,
    ) -> None:
        from convrag_elasticsearch.cluster import Cluster
        from convrag_elasticsearch.finding import Finder
        from convrag_elasticsearch.retrying import Patience
        from convrag_elasticsearch.searcher import Searcher

        check_settings(option, fusing, operation)
        self.option = option
        self.kind = kind
        self.dataset = dataset
        self.store = store
        self.legs = tuple(legs)
        self.fusing = fusing
        self.operation = operation
        self.cluster = Cluster(Patience(operation.timeout, operation.retries, operation.retry_seconds))
        searcher = Searcher(self.cluster, operation.window, operation.batch)
        self._finder = Finder(self.legs, fusing, searcher, self._on_server)
        self._lock = threading.Lock()
        self._aliases: dict[str, str] = {}
        self._licence: Licence | None = None

    def check(self) -> Iterator[str]:
        for domain in self.dataset.domains():
            try:
                if next(iter(self.dataset.corpus(domain)), None) is None:
                    yield f"the data set has no passages to search for the domain {domain!r}."
            except DataError as error:
                yield str(error)
        for leg in self.legs:
            yield from leg.problems()
        yield from self.cluster.problems()

    def prepare(self) -> None:
        """See that everything is there to be searched. Raises NotReady with all that is missing."""
        missing = [problem for domain in self.dataset.domains() if (problem := self._unsearchable(domain))]
        if lacking := [lack for leg in self.legs for lack in leg.lacks(self.cluster)]:
            missing.append(_lacking(lacking))
        if self.fusing.fusion == "server" and len(self.legs) > 1 and not self._fuses_ranks():
            missing.append("fusion=server needs a trial or enterprise licence; fusion=client computes the same here")
        if missing:
            raise NotReady([f"retriever={self.option}: {problem}" for problem in missing])

    def index(self) -> Sequence[str]:
        """Build the index of each domain on the cluster, or go on with it. Raises NotReady, ClusterError, DataError."""
        if lacking := [lack for leg in self.legs for lack in leg.provide(self.cluster)]:
            raise NotReady([f"retriever={self.option}: {_lacking(lacking)}"])
        return [self._build(domain) for domain in self.dataset.domains()]

    def note(self) -> str:
        notes = [leg.note() for leg in self.legs]
        if len(self.legs) > 1:
            notes.append("The cluster fuses the rankings." if self._on_server() else "The rankings are fused here.")
        return " ".join(filter(None, notes))

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        searched = [query for query in queries if query.weight > 0 and query.text.strip()]
        if not searched or k < 1:
            return []
        try:
            return self._finder.find(self._alias(searched[0].domain), searched, k)
        except ClusterError as error:
            if error.down and self.operation.on_failure == "stop":
                raise RunStopped(f"{error} The same command goes on from here.") from error
            raise

    def _on_server(self) -> bool:
        """Whether the cluster is to fuse two rankings."""
        if len(self.legs) < 2 or self.fusing.fusion == "client":
            return False
        return self.fusing.fusion == "server" or self._fuses_ranks()

    def _fuses_ranks(self) -> bool:
        from convrag_elasticsearch.licence import Licence

        with self._lock:
            if self._licence is None:
                self._licence = Licence.of(self.cluster)
            return self._licence.fuses_ranks

    def _unsearchable(self, domain: str) -> str:
        """Why a domain cannot be searched; empty where it can."""
        from convrag_elasticsearch.published import published

        there = published(self.cluster, self._alias(domain))
        if there is None:
            return f"the cluster has no index of {domain!r} with these settings: run the same command with task=index"
        if not there.complete:
            held = f"{there.held:,} of {there.passages:,}"
            return f"{there.name} holds only {held} passages: run the same command with task=index to build it anew"
        return ""

    def _build(self, domain: str) -> str:
        from convrag_elasticsearch.building import Builder, Pace
        from convrag_elasticsearch.cluster import Cluster
        from convrag_elasticsearch.retrying import Patience

        operation = self.operation
        plan = self._plan(domain)
        patience = Patience(operation.index_timeout, operation.retries, operation.retry_seconds)
        pace = Pace(operation.threads, operation.chunk, operation.chunk_bytes)
        with Cluster(patience) as sender, self.store.lock([f"elasticsearch/{plan.alias}"]):
            builder = Builder(self.cluster, sender, pace)
            return builder.build(plan, lambda: self.dataset.corpus(domain), self._fields)

    def _plan(self, domain: str) -> Plan:
        from convrag_elasticsearch.building import Plan

        properties = base_properties()
        settings: dict[str, Any] = {"refresh_interval": "-1", "auto_expand_replicas": self.operation.replicas}
        if self.operation.shards != 1:
            settings["number_of_shards"] = self.operation.shards
        for leg in self.legs:
            properties |= leg.properties()
            settings |= leg.settings()
        return Plan(
            domain=domain,
            alias=self._alias(domain),
            latest=latest_of(self.operation.prefix, domain, self.kind),
            mapping={"dynamic": "false", "_source": {"excludes": VECTORS}, "properties": properties},
            settings=settings,
            processors=[processor for leg in self.legs for processor in leg.processors()],
            about={"domain": domain, "settings": self._identity()},
        )

    def _fields(self, passages: Sequence[Passage]) -> list[dict[str, Any]]:
        """What the legs index of passages."""
        rows: list[dict[str, Any]] = [{} for _ in passages]
        for leg in self.legs:
            for row, fields in zip(rows, leg.fields(passages), strict=True):
                row |= fields
        return rows

    def _alias(self, domain: str) -> str:
        with self._lock:
            if domain not in self._aliases:
                fingerprint = digest([self._identity(), self.dataset.corpus_fingerprint(domain)])
                self._aliases[domain] = alias_of(self.operation.prefix, domain, self.kind, fingerprint)
            return self._aliases[domain]

    def _identity(self) -> dict[str, Any]:
        """What decides what an index holds, beside the corpus."""
        return {"layout": _LAYOUT, "shards": self.operation.shards, "legs": [leg.identity() for leg in self.legs]}


def _lacking(found: Sequence[str]) -> str:
    return "\n  - ".join(["the cluster cannot make the tokens that this needs:", *dict.fromkeys(found)])
