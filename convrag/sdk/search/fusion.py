"""Fusion of several rankings into one, by ranks or by scores, and the agreement of rankings."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Protocol, runtime_checkable

from convrag.api.passages import Hit
from convrag.api.queries import Query
from convrag.api.stages import Retriever


@runtime_checkable
class ScoresPassages(Protocol):
    """A retriever that scores any passage of its corpus, retrieved or not."""

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> Mapping[str, float]:
        """Score given passages: id -> the score that `retrieve` sorts by, 0 for no match.

        Unknown ids are left out.
        """


def reciprocal_rank_fusion(
    rankings: Iterable[Sequence[str]], k: int, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Fuse rankings by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009).

    An item's score is the sum of weight / (k + rank) over the rankings that hold it; ranks count
    from 1. The `rrf` retriever of Elasticsearch computes the same, without weights. Sums are taken
    in the order of the rankings.

    Args:
        rankings: lists of ids, best first.
        k: the constant of the formula, 0 or more; the larger it is, the less the first ranks
            matter. 60 in the paper.
        weights: one for each ranking; None gives each the weight 1, as the paper does.

    Returns:
        Id -> score, in the order in which ids first occur; sort it by score to get the fused
        ranking.

    Raises:
        ValueError: there are more or fewer weights than rankings.
    """
    rankings = list(rankings)
    if weights is None:
        weights = [1.0] * len(rankings)
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, id_ in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + weight / (k + rank)
    return scores


def add_scores(scores: Iterable[Mapping[str, float]], weights: Iterable[float]) -> dict[str, float]:
    """Add up weighted scores: id -> the sum of weight times score.

    Args:
        scores: id -> score, for the same ids in each.
        weights: one for each of them.

    Example:
        >>> add_scores([{"a": 1.0, "b": 0.5}, {"a": 0.0, "b": 1.0}], [1.0, 2.0])
        {'a': 1.0, 'b': 2.5}
    """
    fused: dict[str, float] = {}
    for own, weight in zip(scores, weights, strict=True):
        for id_, score in own.items():
            fused[id_] = fused.get(id_, 0.0) + weight * score
    return fused


def normalise_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """Scale scores to reach from 0 to 1 (min-max normalisation); equal scores become 0."""
    least = min(scores.values(), default=0.0)
    most = max(scores.values(), default=0.0)
    if least == most:
        return dict.fromkeys(scores, 0.0)
    return {id_: (score - least) / (most - least) for id_, score in scores.items()}


def score_candidates(
    retriever: Retriever,
    queries: Sequence[Query],
    hits: Sequence[Hit],
    ids: Iterable[str],
    depth: int,
) -> dict[str, float]:
    """Give each id a score: the hit's, else the retriever's, else the highest that it can have.

    With a ranking that was cut off at `depth`, other ids score at most its lowest score. With a
    shorter ranking they do not match, which is 0 (or its lowest score, if that is below 0).

    Args:
        retriever: scores passages that it did not find, where it can (see `ScoresPassages`).
        queries: of its search.
        hits: its ranking.
        ids: of the passages that need a score.
        depth: the length at which the ranking was cut off.
    """
    found = {hit.passage.id: hit.score for hit in hits}
    others = [id_ for id_ in ids if id_ not in found]
    exact: Mapping[str, float] = {}
    if others and isinstance(retriever, ScoresPassages):
        exact = retriever.scores(queries, others)
    lowest = min(found.values(), default=0.0)
    rest = lowest if len(found) >= depth else min(0.0, lowest)
    return {id_: found.get(id_, exact.get(id_, rest)) for id_ in ids}


def standardise_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """Scale scores to mean 0 and standard deviation 1 (z-scores); equal scores become 0."""
    count = max(len(scores), 1)
    mean = sum(scores.values()) / count
    deviation = sqrt(sum((score - mean) ** 2 for score in scores.values()) / count)
    if not deviation:
        return dict.fromkeys(scores, 0.0)
    return {id_: (score - mean) / deviation for id_, score in scores.items()}


def measure_agreement(rankings: Sequence[Sequence[str]], depth: int = 10) -> list[float]:
    """Measure how much each ranking agrees with the others, from 0 to 1.

    The measure is the mean of its average overlaps with them. The average overlap of two rankings
    is the mean, over the depths d = 1, 2, ..., of the share of their first d items that they have
    in common, so that the first ranks count most (Fagin, Kumar and Sivakumar 2003). A single
    ranking agrees with itself.

    Args:
        rankings: lists of different ids, best first.
        depth: the number of items that are compared, at most.
    """
    if len(rankings) < 2:
        return [1.0] * len(rankings)
    agreements = []
    for place, one in enumerate(rankings):
        others = [*rankings[:place], *rankings[place + 1 :]]
        overlaps = [_average_overlap(one, other, depth) for other in others]
        agreements.append(sum(overlaps) / len(overlaps))
    return agreements


def _average_overlap(one: Sequence[str], other: Sequence[str], depth: int) -> float:
    deepest = min(depth, max(len(one), len(other)))
    shares = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, deepest + 1)]
    return sum(shares) / len(shares) if shares else 0.0
