"""What an earlier exchange is worth for a question: relevance, recency, and a bonus for each way it was matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DIGITS = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """How much the terms of a score weigh; relevance and recency share 1."""

    alpha: float
    cluster: float
    summary: float
    chain: float


@dataclass(frozen=True, slots=True)
class Score:
    """The terms of a score. Relevance and recency lie between 0 and 1, so does `base`; bonuses come on top."""

    relevance: float
    recency: float
    base: float
    cluster_bonus: float
    summary_bonus: float
    chain_bonus: float

    @property
    def total(self) -> float:
        """The sum that ranks."""
        return round(self.base + self.cluster_bonus + self.summary_bonus + self.chain_bonus, DIGITS)


def score(weights: Weights, similarity: float, recency: float, *, cluster: bool, summary: bool, chain: bool) -> Score:
    """Score one exchange.

    Args:
        weights: of the terms.
        similarity: cosine with the question; a negative one is no relevance.
        recency: from 0 to 1.
        cluster: whether the exchange is in the matched cluster.
        summary: whether it is in the matched summary.
        chain: whether it is in the chain that the question continues.
    """
    relevance = min(max(similarity, 0.0), 1.0)
    return Score(
        relevance=round(relevance, DIGITS),
        recency=round(recency, DIGITS),
        base=round(weights.alpha * relevance + (1 - weights.alpha) * recency, DIGITS),
        cluster_bonus=weights.cluster * cluster,
        summary_bonus=weights.summary * summary,
        chain_bonus=weights.chain * chain,
    )


def recencies(numbers: Sequence[int]) -> list[float]:
    """Places in a conversation, oldest first -> 0 for the oldest to 1 for the newest, which an only one is as well."""
    oldest, newest = numbers[0], numbers[-1]
    return [(number - oldest) / (newest - oldest) if newest > oldest else 1.0 for number in numbers]
