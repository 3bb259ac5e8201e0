"""A search of one index: the subqueries' searches are sent, and their rankings fused into one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from convrag import Hit, Passage, Query
from convrag.sdk.cancellation import release_slot
from convrag.sdk.search.corpus import PassageSource
from convrag.sdk.search.fusion import reciprocal_rank_fusion
from convrag.sdk.search.queries import choose_queries
from convrag_elasticsearch.cluster import Cluster, make_path, write_lines
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.on_elasticsearch import Body
from convrag_elasticsearch.retries import send_items
from convrag_elasticsearch.subqueries import (
    SOURCE_FIELDS,
    Subquery,
    WeightedSearch,
    build_document_id,
    build_passage,
)

A = TypeVar("A")
R = TypeVar("R")


class Batcher(Generic[A, R]):
    """Collects the items of several threads. The first thread waits for the others, and sends the batch for all.

    There is no background thread, and nobody holds a lock while waiting: the thread that sends a
    batch answers every item of it, or passes its own error on to the others.

    Args:
        send: items -> a result, or an error, for each, in the same order.
        window: seconds that the first thread waits.
        max_size: a batch of so many items is sent at once; the items of one call stay together.
    """

    def __init__(
        self, send: Callable[[Sequence[A]], Sequence[R | Exception]], window: float, max_size: int
    ) -> None:
        self._send = send
        self._window = window
        self._max_size = max_size
        self._lock = threading.Lock()
        self._open: _Batch[A, R] | None = None

    def submit(self, items: Sequence[A]) -> list[R]:
        """Send items, and return their results in the same order. Raises the error of the first
        item that has one.
        """
        futures: list[Future[R]] = [Future() for _ in items]
        with self._lock:
            is_first = self._open is None
            batch = self._open = self._open or _Batch([], threading.Event())
            batch.items.extend(zip(items, futures, strict=True))
            if len(batch.items) >= self._max_size:
                self._open = None
                batch.full.set()
        if is_first:
            self._send_batch(batch)
        with release_slot():
            return [future.result() for future in futures]

    def _send_batch(self, batch: _Batch[A, R]) -> None:
        """Wait for other threads, send, and set the results. An interruption reaches the others as
        an error.
        """
        try:
            batch.full.wait(self._window)
            self._close(batch)
            results: Sequence[R | BaseException] = self._send([item for item, _ in batch.items])
        except BaseException as error:
            self._close(batch)
            results = [error] * len(batch.items)
        for (_, future), result in zip(batch.items, results, strict=True):
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _close(self, batch: _Batch[A, R]) -> None:
        """Admit no further items."""
        with self._lock:
            if self._open is batch:
                self._open = None


class _Batch(NamedTuple, Generic[A, R]):
    """Items that are sent together, with a future for the result of each."""

    items: list[tuple[A, Future[R]]]
    full: threading.Event


_SPLIT_STATUSES = (400, 413)
"""Statuses of a whole batch that a single one of its searches may have caused."""


class SearchRequest(NamedTuple):
    """A search of one index: its alias, and the body."""

    alias: str
    body: Body


class MultiSearch:
    """Collects the searches of several threads, and sends them as one request.

    Args:
        cluster: receives the requests.
        window: seconds that a search waits for others.
        max_size: searches in a request, at most.
    """

    def __init__(self, cluster: Cluster, window: float, max_size: int) -> None:
        self.cluster = cluster
        self._batcher: Batcher[SearchRequest, list[Hit]] = Batcher(self._send, window, max_size)

    def search(self, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Return the hits of each search, best first. Raises ClusterError."""
        return self._batcher.submit(requests) if requests else []

    def _send(self, requests: Sequence[SearchRequest]) -> Sequence[list[Hit] | Exception]:
        try:
            return send_items(self._msearch, requests, self.cluster.policy, self.cluster.tell_wait)
        except ClusterError as error:
            if len(requests) > 1 and error.status in _SPLIT_STATUSES:
                return [result for request in requests for result in self._send([request])]
            return [
                ClusterError(str(error), error.status) for _ in requests
            ]  # one each: every thread raises its own

    def _msearch(self, requests: Sequence[SearchRequest]) -> list[list[Hit] | ClusterError]:
        searches = (
            line for request in requests for line in (_build_header(request.alias), request.body)
        )
        reply = self.cluster.request("POST", "/_msearch", write_lines(searches))
        return [self._read_item(item) for item in reply["responses"]]

    def _read_item(self, item: dict[str, Any]) -> list[Hit] | ClusterError:
        if "error" in item:
            return self.cluster.explain(item)
        shards = item["_shards"]
        if item["timed_out"] or shards["failed"]:
            partial = f"only {shards['successful']} of {shards['total']} shards answered"
            return self.cluster.explain({"error": partial, "status": 503})
        return [
            Hit(build_passage(hit["_source"]), float(hit["_score"])) for hit in item["hits"]["hits"]
        ]


class IndexedPassages(PassageSource):
    """The passages of a complete index.

    Args:
        cluster: receives the requests.
        alias: of the index.
    """

    def __init__(self, cluster: Cluster, alias: str) -> None:
        self.cluster = cluster
        self.path = f"{make_path(alias, '_mget')}?_source_includes={','.join(SOURCE_FIELDS)}"

    def get_by_id(self, ids: Sequence[str]) -> list[Passage]:
        """Fetch the passages with ids, in the given order; unknown ids are left out. Raises
        ClusterError.
        """
        found: list[Passage] = []
        for start in range(0, len(ids), _FETCHED):
            names = [build_document_id(name) for name in ids[start : start + _FETCHED]]
            docs = self.cluster.request("POST", self.path, {"ids": names})["docs"]
            if failed := next((doc for doc in docs if "error" in doc), None):
                raise self.cluster.explain({"status": 503} | failed)
            found += [build_passage(doc["_source"]) for doc in docs if doc["found"]]
        return found


_FETCHED = 500
"""Passages that are fetched in a request."""


def complete_body(body: Body, size: int) -> Body:
    """Add to a search's body what all searches share: the number of hits, their fields, and ties
    broken by id.
    """
    shared: Body = {"size": size, "_source": {"includes": SOURCE_FIELDS}, "track_total_hits": False}
    return body | shared | {"sort": ["_score", "id"]}  # scores falling, ids rising


def _build_header(index: str) -> dict[str, Any]:
    """Build the header of a search. Hits from some of the shards only would be wrong, so they are
    not allowed.
    """
    return {"index": index, "allow_partial_search_results": False}


class IndexSearcher:
    """Searches an index with one subquery or two.

    Args:
        subqueries: the ways to search.
        multi_search: sends the searches.
        rrf_k: the constant of reciprocal rank fusion.
        depth: passages of each ranking that is fused.
    """

    def __init__(
        self, subqueries: Sequence[Subquery], multi_search: MultiSearch, rrf_k: int, depth: int
    ) -> None:
        self.subqueries = subqueries
        self.multi_search = multi_search
        self.rrf_k = rrf_k
        self.depth = depth

    def search(self, alias: str, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return at most k hits, best first.

        Args:
            alias: of the index.
            queries: of one rewrite, all with text and a positive weight.
            k: at least 1.

        Raises:
            ClusterError: the cluster did not answer, or replied with an error.
        """
        depth = max(self.depth, k)
        hybrid = len(self.subqueries) > 1
        chosen = [choose_queries(queries, each.searches_by) for each in self.subqueries]
        sizes = [
            depth if hybrid or (each.fuses_queries and len(own) > 1) else k
            for each, own in zip(self.subqueries, chosen, strict=True)
        ]
        searches = [
            each.build_searches(own, size)
            for each, own, size in zip(self.subqueries, chosen, sizes, strict=True)
        ]
        requests = [
            SearchRequest(alias, complete_body(search.body, size))
            for own, size in zip(searches, sizes, strict=True)
            for search in own
        ]
        results = iter(self.multi_search.search(requests))
        rankings = [
            self._rank(subquery, own, [next(results) for _ in own])
            for subquery, own in zip(self.subqueries, searches, strict=True)
        ]
        best = fuse_rankings(rankings, [1.0] * len(rankings), self.rrf_k) if hybrid else rankings[0]
        return best[:k]

    def _rank(
        self,
        subquery: Subquery,
        searches: Sequence[WeightedSearch],
        results: Sequence[Sequence[Hit]],
    ) -> list[Hit]:
        """Make one ranking of the results of a subquery's searches."""
        if len(results) == 1:
            return [Hit(hit.passage, subquery.convert_score(hit.score)) for hit in results[0]]
        return fuse_rankings(results, [search.weight for search in searches], self.rrf_k)


def fuse_rankings(
    rankings: Sequence[Sequence[Hit]], weights: Sequence[float], rrf_k: int
) -> list[Hit]:
    """Fuse rankings (hits, best first) by weighted reciprocal ranks; ties by id, as Elasticsearch's
    `rrf` does.
    """
    scores = reciprocal_rank_fusion(
        [[hit.passage.id for hit in hits] for hits in rankings], rrf_k, weights
    )
    passages = {hit.passage.id: hit.passage for hits in rankings for hit in hits}
    return [
        Hit(passages[id_], scores[id_])
        for id_ in sorted(scores, key=lambda id_: (-scores[id_], id_))
    ]
