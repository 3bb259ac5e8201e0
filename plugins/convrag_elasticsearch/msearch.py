"""Searches of all threads travel as multi-searches (`_msearch`), and each gets its own hits or its own error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from convrag import Hit
from convrag_elasticsearch.batching import Batcher
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.documents import SOURCE_FIELDS, build_passage
from convrag_elasticsearch.errors import TRANSIENT_STATUSES, ClusterError, build_cluster_error
from convrag_elasticsearch.retries import send_items
from convrag_elasticsearch.subqueries import Body

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

    def _send(self, requests: Sequence[SearchRequest]) -> list[list[Hit] | Exception]:
        try:
            return send_items(self._msearch, requests, self.cluster.policy, _is_transient)
        except ClusterError as error:
            if len(requests) > 1 and error.status in _SPLIT_STATUSES:
                return [result for request in requests for result in self._send([request])]
            return [ClusterError(str(error), error.status) for _ in requests]  # one each: every thread raises its own

    def _msearch(self, requests: Sequence[SearchRequest]) -> list[list[Hit] | Exception]:
        searches = [line for request in requests for line in (_build_header(request.alias), request.body)]
        reply = self.cluster.request(lambda client: client.msearch(searches=searches))
        return [self._read_item(item) for item in reply["responses"]]

    def _read_item(self, item: dict[str, Any]) -> list[Hit] | Exception:
        if "error" in item:
            return build_cluster_error(item, self.cluster.connection)
        shards = item["_shards"]
        if item["timed_out"] or shards["failed"]:
            partial = f"only {shards['successful']} of {shards['total']} shards answered"
            return build_cluster_error({"error": partial, "status": 503}, self.cluster.connection)
        return [Hit(build_passage(hit["_source"]), float(hit["_score"])) for hit in item["hits"]["hits"]]


def complete_body(body: Body, size: int) -> Body:
    """Add to a search's body what all searches share: the number of hits, their fields, and ties broken by id."""
    shared: Body = {"size": size, "_source": {"includes": SOURCE_FIELDS}, "track_total_hits": False}
    if "retriever" not in body:  # it sorts by itself, and allows no `sort`
        shared["sort"] = ["_score", "id"]  # scores falling, ids rising
    return body | shared


def _build_header(index: str) -> dict[str, Any]:
    """Build the header of a search. Hits from some of the shards only would be wrong, so they are not allowed."""
    return {"index": index, "allow_partial_search_results": False}


def _is_transient(result: object) -> bool:
    return isinstance(result, ClusterError) and result.status in TRANSIENT_STATUSES
