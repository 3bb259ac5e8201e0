"""`retriever=fused`: queries are searched for one by one, or rewriter by rewriter, then fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import Hit, Query, Question, Retriever, use
from convrag.sdk.search.filtering import add_filter, read_filter
from convrag.sdk.search.filters import Filter
from convrag.sdk.search.fusion import (
    add_scores,
    measure_agreement,
    normalise_scores,
    reciprocal_rank_fusion,
    score_candidates,
    standardise_scores,
)

Fusion = Literal["linear", "weighted_rrf", "rrf", "nested_rrf"]


@dataclass(kw_only=True, eq=False)
class FusedRetriever(Retriever):
    """Search for the queries of each rewriter by themselves, and fuse the rankings into one.

    The queries of one rewriter (`Query.source`, which `rewriter=ensemble` sets) belong together and
    are searched at once, as its author meant them; a query without a source is searched by itself,
    but a query for words and one for vectors are searched together. Each ranking weighs as much as
    the heaviest of its queries.

    * `linear` brings the scores of each ranking to one scale, and adds them up, weighted. A passage
      that a ranking lacks gets the score that the retriever gives it, where it can (bm25 and dense
      do), else the lowest.
    * `weighted_rrf` adds up reciprocal ranks, weighted; `rrf` does so without weights (Cormack et
      al. 2009).
    * `nested_rrf` searches for every query by itself, fuses the rankings of each rewriter, then the
      fused ones, weighted. A rewriter with many queries so has no more votes than one with a single
      query; an ensemble within an ensemble counts as one rewriter.

    With `agreement` a ranking also weighs by how many of its first ten passages the others have
    too: a rewrite that went wrong finds what no other one finds (after Wu and Crestani 2002, who
    weigh systems by their likeness to the rest; the overlap is Fagin et al.'s, 2003, deeper ranks
    counting less).

    Equal groups of queries are searched once, and count for each.

    Args:
        base: does the searching; `retriever.base=bm25` chooses another.
        fusion: "linear", "weighted_rrf", "rrf" or "nested_rrf".
        agreement: weigh rankings by their agreement, from 0 (not at all) to 1 (in proportion).
        normalise: the scale of "linear": "min_max" (from 0 to 1) or "z_scores" (mean 0, standard
            deviation 1).
        rrf_k: the constant k of reciprocal ranks: the larger, the less the first ranks stand out.
            Default: that of Cormack et al. 2009.
        depth: passages that each search contributes. Default: as in most papers on fusion.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
    """

    base: Retriever = use("hybrid")
    fusion: Fusion = "linear"
    agreement: Annotated[float, Interval(ge=0, le=1)] = 0.0
    normalise: Literal["min_max", "z_scores"] = "min_max"
    rrf_k: Annotated[int, Ge(0)] = 60
    depth: Annotated[int, Ge(1)] = 100
    filter: str | None = None

    def __post_init__(self) -> None:
        self.own_filter = read_filter(self.filter)
        self.reads_conversation = self.base.reads_conversation

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        return self._search(queries, k, self.base.retrieve)

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        if not self.reads_conversation:
            return self.retrieve(queries, k)
        return self._search(queries, k, partial(self.base.retrieve_for, question))

    def prepare(self) -> None:
        if self.own_filter is not None:
            self.check_filter(self.own_filter)

    def check_filter(self, filter: Filter, domain: str | None = None) -> None:
        self.base.check_filter(filter, domain)

    def _search(
        self, queries: Sequence[Query], k: int, find: Callable[..., list[Hit]]
    ) -> list[Hit]:
        queries = add_filter(queries, self.own_filter)
        groups = group_queries(queries, apart=self.fusion == "nested_rrf")
        if not groups or k < 1:
            return []
        depth = max(self.depth, k)
        distinct = dict.fromkeys(unit for group in groups for unit in group.units)
        found = {unit: find(unit, depth) for unit in distinct}
        passages = {hit.passage.id: hit.passage for hits in found.values() for hit in hits}
        if self.fusion == "linear":
            fused = self._fuse_scores(groups, found, list(passages), depth)
        else:
            fused = self._fuse_ranks(groups, found)
        best = sorted(fused, key=lambda id_: (-fused[id_], id_))[:k]
        return [Hit(passages[id_], fused[id_]) for id_ in best]

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Return what the base says."""
        return self.base.explain(add_filter(queries, self.own_filter))

    def _fuse_scores(
        self,
        groups: Sequence[Group],
        found: Mapping[Unit, Sequence[Hit]],
        ids: Sequence[str],
        depth: int,
    ) -> dict[str, float]:
        scale = normalise_scores if self.normalise == "min_max" else standardise_scores
        scaled = {
            unit: scale(score_candidates(self.base, unit, hits, ids, depth))
            for unit, hits in found.items()
        }
        weights = self._weigh(
            [group.weight for group in groups],
            [_list_ids(found[group.units[0]]) for group in groups],
        )
        return add_scores([scaled[group.units[0]] for group in groups], weights)

    def _fuse_ranks(
        self, groups: Sequence[Group], found: Mapping[Unit, Sequence[Hit]]
    ) -> dict[str, float]:
        rankings = [self._rank(group, found) for group in groups]
        given = [1.0 if self.fusion == "rrf" else group.weight for group in groups]
        return reciprocal_rank_fusion(rankings, self.rrf_k, self._weigh(given, rankings))

    def _rank(self, group: Group, found: Mapping[Unit, Sequence[Hit]]) -> list[str]:
        """Rank what a rewriter's search found, or what its searches found together."""
        rankings = [_list_ids(found[unit]) for unit in group.units]
        if len(rankings) == 1:
            return rankings[0]
        fused = reciprocal_rank_fusion(rankings, self.rrf_k, group.shares)
        return sorted(fused, key=lambda id_: (-fused[id_], id_))

    def _weigh(self, weights: Sequence[float], rankings: Sequence[Sequence[str]]) -> list[float]:
        """Weigh rankings by their weights, and by their agreement where it counts."""
        if not self.agreement:
            return list(weights)
        agreements = measure_agreement(rankings)
        mean = sum(agreements) / len(agreements)
        shares = [agreement / mean if mean else 1.0 for agreement in agreements]
        return [
            weight * (1 - self.agreement + self.agreement * share)
            for weight, share in zip(weights, shares, strict=True)
        ]


Unit = tuple[Query, ...]
"""Queries that are searched for at once.

The heaviest has the weight 1, so that equal units of two rewriters are one.
"""


@dataclass(frozen=True)
class Group:
    """The searches of one rewriter, their weights relative to the heaviest, and its weight."""

    units: tuple[Unit, ...]
    shares: tuple[float, ...]
    weight: float


def group_queries(queries: Sequence[Query], *, apart: bool = False) -> list[Group]:
    """Group queries by the rewriter that made them, in their order. Those of weight 0 are left out.

    A query for words and one for vectors are searched together, so that each side of a hybrid
    search gets its own: alone, either would be searched for by both.

    Args:
        queries: of one rewrite. Each query without a source is a group of its own, but those for
            one kind of search are one group.
        apart: search for each query of a group by itself, but for queries that are for one kind of
            search. The rewriters of an ensemble within an ensemble are one group.
    """
    weighted = [query for query in queries if query.weight]
    names = [query.source.partition("/")[0] if apart else query.source for query in weighted]
    nameless = [query for query, name in zip(weighted, names, strict=True) if not name]
    units = iter(_find_units(nameless))
    groups: dict[object, list[Query]] = {}
    for query, name in zip(weighted, names, strict=True):
        key: object = name or next(units)
        groups.setdefault(key, []).append(query)
    return [_make_group(members, apart) for members in groups.values()]


def _find_units(queries: Sequence[Query]) -> list[int]:
    """Find the searches of queries that may be searched for one by one: a number for each query.

    Queries for one kind of search belong together. Where the other kind has no query of its own,
    those for both kinds join them, which the other kind then takes.
    """
    kinds = {query.search for query in queries} - {"any"}
    if len(kinds) == 1:
        return [0] * len(queries)
    return [number if query.search == "any" else 0 for number, query in enumerate(queries, start=1)]


def _make_group(queries: Sequence[Query], apart: bool) -> Group:
    numbers = _find_units(queries) if apart else [0] * len(queries)
    units: dict[int, list[Query]] = {}
    for number, query in zip(numbers, queries, strict=True):
        units.setdefault(number, []).append(query)
    heaviest = [max(abs(query.weight) for query in unit) for unit in units.values()]
    scaled = []
    for unit, weight in zip(units.values(), heaviest, strict=True):
        scaled.append(
            tuple(replace(query, weight=query.weight / weight, source="") for query in unit)
        )
    shares = tuple(weight / max(heaviest) for weight in heaviest)
    return Group(tuple(scaled), shares, max(heaviest))


def _list_ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]
