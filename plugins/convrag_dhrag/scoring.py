"""The score of an earlier exchange for a question: relevance, recency, and a bonus for each kind of match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a score's terms: alpha of relevance, 1 - alpha of recency, and the bonuses."""

    alpha: float
    cluster: float
    summary: float
    chain: float


@dataclass(frozen=True, slots=True)
class Score:
    """The terms of a score. Relevance, recency and their weighted sum `base` are between 0 and 1."""

    relevance: float
    recency: float
    base: float
    cluster_bonus: float
    summary_bonus: float
    chain_bonus: float

    @property
    def total(self) -> float:
        """The sum by which exchanges are ranked."""
        return round(self.base + self.cluster_bonus + self.summary_bonus + self.chain_bonus, _DIGITS)


def score_exchange(
    weights: Weights, similarity: float, recency: float, *, cluster: bool, summary: bool, chain: bool
) -> Score:
    """Score one exchange.

    Args:
        weights: of the terms.
        similarity: cosine with the question; a negative one counts as 0.
        recency: from 0 to 1.
        cluster: whether the exchange is in the matched cluster.
        summary: whether it is in the matched summary.
        chain: whether it is in the chain that the question continues.
    """
    relevance = min(max(similarity, 0.0), 1.0)
    return Score(
        relevance=round(relevance, _DIGITS),
        recency=round(recency, _DIGITS),
        base=round(weights.alpha * relevance + (1 - weights.alpha) * recency, _DIGITS),
        cluster_bonus=weights.cluster * cluster,
        summary_bonus=weights.summary * summary,
        chain_bonus=weights.chain * chain,
    )


def compute_recencies(numbers: Sequence[int]) -> list[float]:
    """Turn numbers, oldest first -> 0 for the oldest to 1 for the newest; 1 where there is only one."""
    oldest, newest = numbers[0], numbers[-1]
    return [(number - oldest) / (newest - oldest) if newest > oldest else 1.0 for number in numbers]
