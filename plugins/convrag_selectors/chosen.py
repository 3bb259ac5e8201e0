"""Scores on one scale, and selections by position."""

from collections.abc import Mapping, Sequence
from typing import Any

from convrag import Hit, Selection


def scale_scores(scores: Sequence[float]) -> list[float]:
    """Scale scores to reach from 0, the lowest, to 1, the highest; where all are equal, they become 1.

    So scores of any kind (BM25, cosines, logits below 0) are shares of the best one.
    """
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def select_positions(
    hits: Sequence[Hit], positions: Sequence[int], trace: Mapping[str, Any], *, fallback: str = ""
) -> Selection:
    """Select the hits at positions (from 0), in their order; the trace also has their ranks (from 1)."""
    ranks = [position + 1 for position in positions]
    return Selection(tuple(hits[position] for position in positions), {"ranks": ranks, **trace}, fallback)
