"""A search of one index: the subqueries' searches are sent, and their rankings fused into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convrag import Hit, Query
from convrag.sdk.fusion import reciprocal_rank_fusion
from convrag.sdk.queries import choose_queries
from convrag_elasticsearch.msearch import MultiSearch, SearchRequest, complete_body
from convrag_elasticsearch.settings import FusionSettings
from convrag_elasticsearch.subqueries import Subquery, WeightedSearch


class IndexSearcher:
    """Searches an index with one subquery or two.

    Args:
        subqueries: the ways to search.
        fusion: how rankings are fused.
        multi_search: sends the searches.
        fuses_on_server: whether the cluster is to fuse the rankings of two subqueries.
    """

    def __init__(
        self,
        subqueries: Sequence[Subquery],
        fusion: FusionSettings,
        multi_search: MultiSearch,
        fuses_on_server: Callable[[], bool],
    ) -> None:
        self.subqueries = subqueries
        self.fusion = fusion
        self.multi_search = multi_search
        self.fuses_on_server = fuses_on_server

    def search(self, alias: str, queries: Sequence[Query], k: int) -> list[Hit]:
        """Return at most k hits, best first.

        Args:
            alias: of the index.
            queries: of one rewrite, all with text and a positive weight.
            k: at least 1.

        Raises:
            ClusterError: the cluster did not answer, or replied with an error.
        """
        depth = max(self.fusion.depth, k)
        hybrid = len(self.subqueries) > 1
        chosen = [choose_queries(queries, each.searches_by) for each in self.subqueries]
        sizes = [
            depth if hybrid or (each.fuses_queries and len(own) > 1) else k
            for each, own in zip(self.subqueries, chosen, strict=True)
        ]
        searches = [
            each.build_searches(own, size) for each, own, size in zip(self.subqueries, chosen, sizes, strict=True)
        ]
        if hybrid and all(len(own) == 1 for own in searches) and self.fuses_on_server():
            body = _build_rrf_body([own[0].body for own in searches], self.fusion.rrf_k, depth)
            return self.multi_search.search([SearchRequest(alias, complete_body(body, k))])[0]
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
        best = fuse_rankings(rankings, [1.0] * len(rankings), self.fusion.rrf_k) if hybrid else rankings[0]
        return best[:k]

    def _rank(
        self, subquery: Subquery, searches: Sequence[WeightedSearch], results: Sequence[Sequence[Hit]]
    ) -> list[Hit]:
        """Make one ranking of the results of a subquery's searches."""
        if len(results) == 1:
            return [Hit(hit.passage, subquery.convert_score(hit.score)) for hit in results[0]]
        return fuse_rankings(results, [search.weight for search in searches], self.fusion.rrf_k)


def fuse_rankings(rankings: Sequence[Sequence[Hit]], weights: Sequence[float], rrf_k: int) -> list[Hit]:
    """Fuse rankings (hits, best first) by weighted reciprocal ranks; ties by id, as Elasticsearch's `rrf` does."""
    scores = reciprocal_rank_fusion([[hit.passage.id for hit in hits] for hits in rankings], rrf_k, weights)
    passages = {hit.passage.id: hit.passage for hits in rankings for hit in hits}
    return [Hit(passages[id_], scores[id_]) for id_ in sorted(scores, key=lambda id_: (-scores[id_], id_))]


def _build_rrf_body(bodies: Sequence[Mapping[str, Any]], rrf_k: int, depth: int) -> dict[str, Any]:
    """Build the body of a search that lets the cluster fuse the rankings of several."""
    retrievers = [{"knn": body["knn"]} if "knn" in body else {"standard": {"query": body["query"]}} for body in bodies]
    return {"retriever": {"rrf": {"retrievers": retrievers, "rank_constant": rrf_k, "rank_window_size": depth}}}
