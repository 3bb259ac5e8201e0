"""`rewriter=best_of_n`: of several rewrites, the one whose passages the others find too."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from annotated_types import Ge

from convrag import Query, Question, Retriever, Rewrite, Rewriter, use
from convrag.sdk.search.filters import join_filters
from convrag.sdk.search.fusion import measure_agreement


@dataclass(kw_only=True, eq=False)
class BestOfNRewriter(Rewriter):
    """Search for each of several rewrites, and keep the one that agrees best with the others.

    The rewrites are the queries of `base` by their source: the samples of rewriter=llm4cs, the
    rewriters of rewriter=ensemble. The agreement is the mean average overlap of a ranking with the
    others (Fagin et al. 2003); no number of it is fitted. Of equal ones the first is kept, so two
    rewrites leave nothing to choose. What the base says of a failure, the record says.

    Source: the idea of Lai et al. 2025, "AdaRewriter", which trains a model to score the rewrites;
    here, what they find scores them.

    Args:
        base: gives the rewrites; `rewriter.base.n=8` has llm4cs_rewrites sample more.
        retriever: searches for each; the run's by default.
        depth: passages of each ranking that are compared.
    """

    base: Rewriter = use("llm4cs_rewrites")
    retriever: Retriever
    depth: Annotated[int, Ge(1)] = 10

    def rewrite(self, question: Question) -> Rewrite:
        """Search for each rewrite of the base, and keep one; a single one is not searched for."""
        rewrite = self.base.rewrite(question)
        candidates: dict[object, list[Query]] = {}
        for number, query in enumerate(rewrite.queries):
            placed = replace(
                query,
                turn_id=question.turn_id,
                domain=question.domain,
                filter=join_filters([question.filter, query.filter]),
            )
            candidates.setdefault(query.source or number, []).append(placed)
        if len(candidates) == 1:
            return rewrite
        units = [tuple(queries) for queries in candidates.values()]
        found = (
            self.retriever.retrieve_for(question, unit, self.depth) for unit in units
        )  # as the turn will search
        rankings = [[hit.passage.id for hit in hits] for hits in found]
        scores = [round(score, 6) for score in measure_agreement(rankings, self.depth)]
        kept = scores.index(max(scores))
        rows = [
            {"query": unit[0].text, "agreement": score}
            for unit, score in zip(units, scores, strict=True)
        ]
        trace: dict[str, Any] = {**rewrite.trace, "candidates": rows, "kept": kept}
        return replace(rewrite, queries=units[kept], trace=trace)
