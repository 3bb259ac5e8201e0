"""How two rankings become one: by ranks, or by scores on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def reciprocal_ranks(rankings: Iterable[Sequence[str]], k: int) -> dict[str, float]:
    """Id -> the sum of 1 / (k + rank) over the rankings that hold it (Cormack et al. 2009); ranks count from 1."""
    fused: dict[str, float] = {}
    for ranking in rankings:
        for rank, id_ in enumerate(ranking, 1):
            fused[id_] = fused.get(id_, 0.0) + 1 / (k + rank)
    return fused


def weighted(scores: Iterable[Mapping[str, float]], weights: Iterable[float]) -> dict[str, float]:
    """Id -> the sum of weight times normalised score; all of the mappings have the same ids."""
    fused: dict[str, float] = {}
    for of_one, weight in zip(scores, weights, strict=True):
        for id_, score in normalised(of_one).items():
            fused[id_] = fused.get(id_, 0.0) + weight * score
    return fused


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """The scores moved and stretched to reach from 0 to 1; where all are the same they say nothing, and are 0."""
    least, most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {id_: (score - least) / (most - least) if most > least else 0.0 for id_, score in scores.items()}


def completed(
    found: Mapping[str, float], exact: Mapping[str, float], ids: Iterable[str], depth: int
) -> dict[str, float]:
    """A score for each id: as found, else exact, else the most that the ranking leaves open.

    A ranking that was cut off at `depth` leaves its lowest score to the rest; a shorter one says that the rest is no
    match, which is 0 (or its lowest score, where that is below).
    """
    lowest = min(found.values(), default=0.0)
    rest = lowest if len(found) >= depth else min(0.0, lowest)
    return {id_: found.get(id_, exact.get(id_, rest)) for id_ in ids}
