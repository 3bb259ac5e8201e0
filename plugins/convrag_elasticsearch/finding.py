"""Queries become searches, and what they find becomes one ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convrag import Hit, Query
from convrag_elasticsearch.fusion import fuse
from convrag_elasticsearch.legs import Leg, Search
from convrag_elasticsearch.searcher import Asked, Searcher, whole
from convrag_elasticsearch.settings import Fusing


class Finder:
    """Searches with one leg or two.

    Args:
        legs: the ways of searching.
        fusing: how their rankings become one.
        searcher: asks the cluster.
        on_server: whether the cluster may fuse two rankings itself.
    """

    def __init__(self, legs: Sequence[Leg], fusing: Fusing, searcher: Searcher, on_server: Callable[[], bool]) -> None:
        self.legs = legs
        self.fusing = fusing
        self.searcher = searcher
        self.on_server = on_server

    def find(self, alias: str, queries: Sequence[Query], k: int) -> list[Hit]:
        """At most k passages, best first. Raises ClusterError.

        Args:
            alias: of the index.
            queries: of one rewrite, all with text and a positive weight.
            k: at least 1.
        """
        depth = max(self.fusing.depth, k)
        hybrid = len(self.legs) > 1
        sizes = [depth if hybrid or (leg.fuses and len(queries) > 1) else k for leg in self.legs]
        wanted = [leg.searches(queries, size) for leg, size in zip(self.legs, sizes, strict=True)]
        if hybrid and all(len(searches) == 1 for searches in wanted) and self.on_server():
            body = _rrf([searches[0].body for searches in wanted], self.fusing.rrf_k, depth)
            return self.searcher.search([Asked(alias, whole(body, k))])[0]
        asked = [
            Asked(alias, whole(search.body, size))
            for searches, size in zip(wanted, sizes, strict=True)
            for search in searches
        ]
        answers = iter(self.searcher.search(asked))
        rankings = [
            self._ranking(leg, searches, [next(answers) for _ in searches])
            for leg, searches in zip(self.legs, wanted, strict=True)
        ]
        best = fuse([(1.0, ranking) for ranking in rankings], self.fusing.rrf_k) if hybrid else rankings[0]
        return best[:k]

    def _ranking(self, leg: Leg, searches: Sequence[Search], answers: Sequence[list[Hit]]) -> list[Hit]:
        """What one leg finds."""
        if len(answers) == 1:
            return [Hit(hit.passage, leg.score(hit.score)) for hit in answers[0]]
        return fuse([(s.weight, hits) for s, hits in zip(searches, answers, strict=True)], self.fusing.rrf_k)


def _rrf(bodies: Sequence[Mapping[str, Any]], rrf_k: int, depth: int) -> dict[str, Any]:
    """The cluster's own fusion of searches."""
    retrievers = [{"knn": body["knn"]} if "knn" in body else {"standard": {"query": body["query"]}} for body in bodies]
    return {"retriever": {"rrf": {"retrievers": retrievers, "rank_constant": rrf_k, "rank_window_size": depth}}}
