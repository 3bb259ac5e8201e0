"""`retriever=hybrid`: lexical and dense search, fused into one ranking."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import Hit, Query, Question, Retriever, use
from convrag.sdk.search.filtering import add_filter, read_filter
from convrag.sdk.search.filters import Filter
from convrag.sdk.search.fusion import (
    add_scores,
    normalise_scores,
    reciprocal_rank_fusion,
    score_candidates,
)


@dataclass(kw_only=True, eq=False)
class HybridRetriever(Retriever):
    """Search by words and by meaning at once, and fuse the two rankings.

    Words find names that vectors blur. Both retrievers get the weighted queries as they are, and
    each combines them in its own way. The candidates are the best `depth` of either.
    `fusion=linear` brings their scores to one scale, from 0 for the worst candidate of this query
    to 1 for the best, and adds them up; a passage that one of the retrievers did not find is scored
    by it all the same, where it can (bm25 and dense do; for others it comes last).
    `fusion=adaptive` does so with weights that follow from the two rankings of a query: one whose
    best passages stand out from the other candidates counts more. `fusion=rrf` goes by ranks alone:
    safer where scores cannot be compared, worse where one retriever is the weaker.

    Args:
        lexical: searches by words; `retriever.lexical=...` chooses another.
        dense: searches by meaning; `retriever.dense=...` chooses another.
        fusion: "linear" (weighted scores), "adaptive" (the same, each weight times 1 - the mean of
            the candidates' scores from 0 to 1) or "rrf" (reciprocal ranks).
        weight: of the lexical scores in "linear", from 0 to 1; the dense ones have the rest.
            Default: after Bruch et al. 2023, who give the dense scores 0.8 where nothing was tuned.
        rrf_k: the constant k of "rrf": the larger, the less the first ranks stand out. Default: the
            seed's, as in Cormack et al. 2009.
        depth: passages that each retriever contributes. Default: as in most papers on fusion.
        filter: the condition on fields that passages must match: "product=kettle and year>=2023"
            (docs/search.md); null takes all passages.
    """

    lexical: Retriever = use("bm25")
    dense: Retriever = use("dense")
    fusion: Literal["linear", "adaptive", "rrf"] = "linear"
    weight: Annotated[float, Interval(ge=0, le=1)] = 0.2
    rrf_k: Annotated[int, Ge(0)] = 60
    depth: Annotated[int, Ge(1)] = 100
    filter: str | None = None

    def __post_init__(self) -> None:
        self.own_filter = read_filter(self.filter)
        self.reads_conversation = self.lexical.reads_conversation or self.dense.reads_conversation

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        return self._fuse(queries, k, (self.lexical.retrieve, self.dense.retrieve))

    def retrieve_for(self, question: Question, queries: Sequence[Query], k: int) -> list[Hit]:
        if not self.reads_conversation:
            return self.retrieve(queries, k)
        sides = [partial(each.retrieve_for, question) for each in (self.lexical, self.dense)]
        return self._fuse(queries, k, sides)

    def prepare(self) -> None:
        if self.own_filter is not None:
            self.check_filter(self.own_filter)

    def check_filter(self, filter: Filter, domain: str | None = None) -> None:
        for retriever in (self.lexical, self.dense):
            retriever.check_filter(filter, domain)

    def _fuse(
        self, queries: Sequence[Query], k: int, sides: Iterable[Callable[..., list[Hit]]]
    ) -> list[Hit]:
        queries = add_filter(queries, self.own_filter)
        depth = max(self.depth, k)
        found = [find(queries, depth) for find in sides]
        passages = {hit.passage.id: hit.passage for hits in found for hit in hits}
        if self.fusion == "rrf":
            rankings = [[hit.passage.id for hit in hits] for hits in found]
            fused = reciprocal_rank_fusion(rankings, self.rrf_k)
        else:
            fused = self._fuse_scores(queries, found, list(passages), depth)
        best = sorted(fused, key=lambda id_: (-fused[id_], id_))[: max(k, 0)]
        return [Hit(passages[id_], fused[id_]) for id_ in best]

    def _fuse_scores(
        self,
        queries: Sequence[Query],
        found: Sequence[Sequence[Hit]],
        ids: Sequence[str],
        depth: int,
    ) -> dict[str, float]:
        """Add up both sides' scores of the candidates, scaled to 0 to 1 and weighted."""
        scaled = []
        for retriever, hits in zip((self.lexical, self.dense), found, strict=True):
            scores = score_candidates(retriever, queries, hits, ids, depth)
            scaled.append(normalise_scores(scores))
        weights = [self.weight, 1 - self.weight]
        if self.fusion == "adaptive":
            means = [sum(scores.values()) / (len(scores) or 1) for scores in scaled]
            weights = [weight * (1 - mean) for weight, mean in zip(weights, means, strict=True)]
        return add_scores(scaled, weights)

    def explain(self, queries: Sequence[Query]) -> Mapping[str, Any]:
        """Return what the search by words says."""
        return self.lexical.explain(add_filter(queries, self.own_filter))
