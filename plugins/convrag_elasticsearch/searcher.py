"""Searches of all threads, in batches, each with its own answer or error."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from convrag import Hit
from convrag_elasticsearch.batching import Batcher
from convrag_elasticsearch.cluster import Cluster
from convrag_elasticsearch.documents import RETURNED, passage_of
from convrag_elasticsearch.failures import PASSING, ClusterError, item_error
from convrag_elasticsearch.legs import Body
from convrag_elasticsearch.retrying import with_retries

_POISONED = (400, 413)
"""Statuses of a whole batch that one of its searches may have brought about."""


class Asked(NamedTuple):
    """One search of an index."""

    alias: str
    body: Body


class _Busy(Exception):
    """Some searches of a batch were turned away, and may be asked again."""


class Searcher:
    """Sends what comes within a moment as one `msearch`.

    Args:
        cluster: is asked.
        window: seconds that a search waits for others.
        most: searches in a request.
    """

    def __init__(self, cluster: Cluster, window: float, most: int) -> None:
        self.cluster = cluster
        self._batcher: Batcher[Asked, list[Hit]] = Batcher(self._send, window, most)

    def search(self, asked: Sequence[Asked]) -> list[list[Hit]]:
        """What each search finds, best first. Raises ClusterError."""
        return self._batcher.ask(asked) if asked else []

    def _send(self, asked: Sequence[Asked]) -> list[list[Hit] | Exception]:
        try:
            return self._attempts(asked)
        except ClusterError as error:
            if len(asked) > 1 and error.status in _POISONED:
                return [answer for one in asked for answer in self._send([one])]
            return [ClusterError(str(error), error.status) for _ in asked]  # one each: threads raise them

    def _attempts(self, asked: Sequence[Asked]) -> list[list[Hit] | Exception]:
        """Ask for all, then again for those that were turned away."""
        answers: dict[int, list[Hit] | Exception] = {}
        waiting = list(range(len(asked)))

        def once() -> None:
            for place, item in zip(list(waiting), self._msearch([asked[place] for place in waiting]), strict=True):
                answers[place] = self._answer(item)
            waiting[:] = [place for place in waiting if _may_pass(answers[place])]
            if waiting:
                raise _Busy

        with suppress(_Busy):  # they keep the error that came last
            with_retries(once, self.cluster.patience, passing=lambda outcome: isinstance(outcome, _Busy))
        return [answers[place] for place in range(len(asked))]

    def _msearch(self, asked: Sequence[Asked]) -> list[dict[str, Any]]:
        searches = [line for one in asked for line in (_header(one.alias), one.body)]
        reply = self.cluster.ask(lambda client: client.msearch(searches=searches))
        return list(reply["responses"])

    def _answer(self, item: dict[str, Any]) -> list[Hit] | Exception:
        if "error" in item:
            return item_error(item, self.cluster.connection)
        shards = item["_shards"]
        if item["timed_out"] or shards["failed"]:
            partial = f"only {shards['successful']} of {shards['total']} shards answered"
            return item_error({"error": partial, "status": 503}, self.cluster.connection)
        return [Hit(passage_of(hit["_source"]), float(hit["_score"])) for hit in item["hits"]["hits"]]


def whole(body: Body, size: int) -> Body:
    """A search with what all of them share: passages come back whole, ties are broken by their ids."""
    shared: Body = {"size": size, "_source": {"includes": RETURNED}, "track_total_hits": False}
    if "retriever" not in body:  # a retriever has an order of its own
        shared["sort"] = ["_score", "id"]  # scores falling, ids rising
    return body | shared


def _header(index: str) -> dict[str, Any]:
    """A search that not all shards have answered is no result."""
    return {"index": index, "allow_partial_search_results": False}


def _may_pass(answer: object) -> bool:
    return isinstance(answer, ClusterError) and answer.status in PASSING
