"""A search of one index: the subqueries' searches are sent, and their rankings fused into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from convrag import Hit, Query
from convrag.sdk.search.fusion import reciprocal_rank_fusion
from convrag.sdk.search.queries import choose_queries
from convrag_elasticsearch.elasticsearch_engine import Body
from convrag_elasticsearch.multi_search import MultiSearch, SearchRequest, complete_body
from convrag_elasticsearch.subquery import Subquery, WeightedSearch


class _PlannedSearches(NamedTuple):
    """The searches of a subquery, and the hits that each of them shall find."""

    subquery: Subquery
    searches: Sequence[WeightedSearch]
    size: int


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

    def search(
        self, alias: str, queries: Sequence[Query], k: int, clause: Body | None = None
    ) -> list[Hit]:
        """Return at most k hits, best first.

        Args:
            alias: of the index.
            queries: of one rewrite, all with text and a positive weight.
            k: at least 1.
            clause: the query that all hits must match; None for all passages.

        Raises:
            ClusterError: the cluster did not answer, or replied with an error.
        """
        planned = [self._plan(subquery, queries, k) for subquery in self.subqueries]
        requests = [
            SearchRequest(alias, complete_body(self._filter(search.body, clause), each.size))
            for each in planned
            for search in each.searches
        ]
        results = iter(self.multi_search.search(requests))
        rankings = []
        for each in planned:
            own_results = [next(results) for _ in each.searches]
            rankings.append(self._rank(each, own_results))
        if len(rankings) == 1:
            return rankings[0][:k]
        return fuse_rankings(rankings, [1.0] * len(rankings), self.rrf_k)[:k]

    def _filter(self, body: Body, clause: Body | None) -> Body:
        if clause is None:
            return body
        return self.multi_search.cluster.engine.filter_search(body, clause)

    def _plan(self, subquery: Subquery, queries: Sequence[Query], k: int) -> _PlannedSearches:
        """Plan the searches of a subquery: deeper than k where rankings are fused."""
        chosen = choose_queries(queries, subquery.searches_by)
        is_hybrid = len(self.subqueries) > 1
        fuses_own = subquery.fuses_queries and len(chosen) > 1
        size = max(self.depth, k) if is_hybrid or fuses_own else k
        return _PlannedSearches(subquery, subquery.build_searches(chosen, size), size)

    def _rank(self, planned: _PlannedSearches, results: Sequence[Sequence[Hit]]) -> list[Hit]:
        """Make one ranking of the results of a subquery's searches."""
        if len(results) == 1:
            convert = planned.subquery.convert_score
            return [Hit(hit.passage, convert(hit.score)) for hit in results[0]]
        weights = [search.weight for search in planned.searches]
        return fuse_rankings(results, weights, self.rrf_k)


def fuse_rankings(
    rankings: Sequence[Sequence[Hit]], weights: Sequence[float], rrf_k: int
) -> list[Hit]:
    """Fuse rankings by weighted reciprocal ranks; ties by id, as Elasticsearch's `rrf` does.

    Args:
        rankings: hits, best first.
        weights: of the rankings.
        rrf_k: the constant of reciprocal rank fusion.
    """
    ids = [[hit.passage.id for hit in hits] for hits in rankings]
    scores = reciprocal_rank_fusion(ids, rrf_k, weights)
    passages = {hit.passage.id: hit.passage for hits in rankings for hit in hits}
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return [Hit(passages[id_], scores[id_]) for id_ in order]
