"""Reciprocal rank fusion of several rankings into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def reciprocal_rank_fusion(
    rankings: Iterable[Sequence[str]], k: int, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Fuse rankings by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009).

    An item's score is the sum of weight / (k + rank) over the rankings that hold it; ranks count from 1. The `rrf`
    retriever of Elasticsearch computes the same, without weights. Sums are taken in the order of the rankings.

    Args:
        rankings: lists of ids, best first.
        k: the constant of the formula, 0 or more; the larger it is, the less the first ranks matter. 60 in the paper.
        weights: one for each ranking; None gives each the weight 1, as the paper does.

    Returns:
        Id -> score, in the order in which ids first occur; sort it by score to get the fused ranking.

    Raises:
        ValueError: there are more or fewer weights than rankings.
    """
    rankings = list(rankings)
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, [1.0] * len(rankings) if weights is None else weights, strict=True):
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + weight / (k + rank)
    return scores
