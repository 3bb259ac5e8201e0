"""Sends searches: several in one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from convrag import Hit
from convrag_elasticsearch.batcher import Batcher
from convrag_elasticsearch.cluster import Cluster, write_lines
from convrag_elasticsearch.documents import SOURCE_FIELDS, build_passage
from convrag_elasticsearch.elasticsearch_engine import Body
from convrag_elasticsearch.errors import ClusterError
from convrag_elasticsearch.retries import send_items

_SPLIT_STATUSES = (400, 413)
"""Statuses of a whole batch that a single one of its searches may have caused."""


class SearchRequest(NamedTuple):
    """A search of one index: its alias, and the body."""

    alias: str
    body: Body


class MultiSearch:
    """Sends the searches of several threads as one request.

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
            return send_items(
                self._msearch, requests, self.cluster.policy, self.cluster.warn_of_wait
            )
        except ClusterError as error:
            if len(requests) > 1 and error.status in _SPLIT_STATUSES:
                return [result for request in requests for result in self._send([request])]
            # One error each: every thread raises its own.
            return [ClusterError(str(error), error.status) for _ in requests]

    def _msearch(self, requests: Sequence[SearchRequest]) -> list[list[Hit] | ClusterError]:
        lines: list[Body] = []
        for request in requests:
            # Hits from some of the shards only would be wrong, so they are not allowed.
            header = {"index": request.alias, "allow_partial_search_results": False}
            lines += [header, request.body]
        reply = self.cluster.request("POST", "/_msearch", write_lines(lines))
        return [self._read_item(item) for item in reply["responses"]]

    def _read_item(self, item: dict[str, Any]) -> list[Hit] | ClusterError:
        if "error" in item:
            return self.cluster.explain(item)
        shards = item["_shards"]
        if item["timed_out"] or shards["failed"]:
            partial = f"only {shards['successful']} of {shards['total']} shards answered"
            return self.cluster.explain({"error": partial, "status": 503})
        hits = item["hits"]["hits"]
        return [Hit(build_passage(hit["_source"]), float(hit["_score"])) for hit in hits]


def complete_body(body: Body, size: int) -> Body:
    """Complete a search's body with what all searches share.

    That is the number of hits, their fields, and the order of equal scores.
    """
    shared: Body = {"size": size, "_source": {"includes": SOURCE_FIELDS}, "track_total_hits": False}
    return body | shared | {"sort": ["_score", "id"]}  # scores falling, ids rising
