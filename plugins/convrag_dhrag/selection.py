"""Selects the exchanges that a question needs: those with the best scores, and others that are always kept."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convrag import Turn
from convrag_dhrag.database import HistoryDatabase, compute_recencies
from convrag_dhrag.hierarchical_matching import Match, TierSizes, match_question

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


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected triples by position in the database, oldest first, with their scores; and the question's match."""

    selected: list[tuple[int, Score]]
    match: Match | None
    chain: int
    database: HistoryDatabase

    @property
    def turns(self) -> list[Turn]:
        """The selected turns in the order of the conversation."""
        return [self.database.triples[position].turn for position, _ in self.selected]

    def make_trace(self) -> dict[str, Any]:
        """Plain data for the turn's record: every selected turn, and why it was selected."""
        return {
            "system": "dhrag",
            "available": len(self.database.triples),
            "selected": [turn.id for turn in self.turns],
            "reasons": [self._trace_reason(position, terms) for position, terms in self.selected],
            "match": self._trace_match(),
            "chain": self.chain,
            "chains": [*self.database.chains, self.chain],
        }

    def list_summary_turns(self) -> list[Turn]:
        """The turns of the matched summary, oldest first; none where nothing matched."""
        positions = self.match.summary.group.members if self.match and self.match.summary else ()
        return [self.database.triples[position].turn for position in positions]

    def _trace_reason(self, position: int, terms: Score) -> dict[str, Any]:
        triples = self.database.triples
        return {
            "turn_id": triples[position].turn.id,
            "last": position == len(triples) - 1,
            "matched": self.match is not None and position == self.match.triple,
            "score": terms.total,
            **asdict(terms),
            "chain": triples[position].chain,
        }

    def _trace_match(self) -> dict[str, Any] | None:
        if self.match is None:
            return None
        triples = self.database.triples
        return {
            tier: {
                "number": found.number,
                "turns": [triples[member].turn.id for member in found.group.members],
                "representative": triples[found.group.representative].turn.id,
                "similarity": found.similarity,
            }
            for tier, found in (("cluster", self.match.cluster), ("summary", self.match.summary))
            if found
        } | {"triple": {"turn_id": triples[self.match.triple].turn.id, "similarity": self.match.similarity}}


def select_exchanges(
    question: str,
    vector: NDArray[np.float32],
    database: HistoryDatabase,
    *,
    top_k: int,
    weights: Weights,
    sizes: TierSizes,
    last_exchange: bool,
    matched_exchange: bool,
) -> Selection:
    """Select at most top_k exchanges: those that are always kept, and those with the best scores.

    Of equal scores the later one wins.

    Args:
        question: as the user asked it.
        vector: (d,) its embedding.
        database: the history.
        top_k: the most exchanges.
        weights: of a score's terms.
        sizes: of the tiers that the question is matched with.
        last_exchange: whether the last one is kept whatever its score.
        matched_exchange: whether the one that the question is matched with is.
    """
    similarities = database.compute_similarities(vector)
    chain = database.assign_chain(similarities)
    match = match_question(question, database, sizes)
    scores = _score_all(similarities, chain, match, database, weights)
    kept = [len(scores) - 1] if last_exchange else []
    kept += [match.triple] if matched_exchange and match else []
    by_score = sorted(range(len(scores)), key=lambda position: (-scores[position].total, -position))
    selected = sorted(list(dict.fromkeys([*kept, *by_score]))[:top_k])
    return Selection([(position, scores[position]) for position in selected], match, chain, database)


def _score_all(
    similarities: NDArray[np.float64], chain: int, match: Match | None, database: HistoryDatabase, weights: Weights
) -> list[Score]:
    """The scores of all triples."""
    recencies = compute_recencies([triple.number for triple in database.triples])
    return [
        score_exchange(
            weights,
            float(similarities[position]),
            recencies[position],
            cluster=match is not None and match.in_cluster(position),
            summary=match is not None and match.in_summary(position),
            chain=triple.chain == chain,
        )
        for position, triple in enumerate(database.triples)
    ]
