"""How several rankings become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convrag import Hit


def fuse(rankings: Iterable[tuple[float, Sequence[Hit]]], rrf_k: int) -> list[Hit]:
    """(Weight, hits best first) of each ranking -> one: a passage has the sum of weight / (rrf_k + rank), ties by id.

    Ranks count from 1 (Cormack et al. 2009); the cluster's own `rrf` retriever computes the same.
    """
    scores: dict[str, float] = {}
    passages = {}
    for weight, hits in rankings:
        for rank, hit in enumerate(hits, 1):
            passages[hit.passage.id] = hit.passage
            scores[hit.passage.id] = scores.get(hit.passage.id, 0.0) + weight / (rrf_k + rank)
    return [Hit(passages[id_], scores[id_]) for id_ in sorted(scores, key=lambda id_: (-scores[id_], id_))]
