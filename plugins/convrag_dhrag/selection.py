"""Selection of exchanges for a question: the best scores, and those that are always kept."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from convrag import Turn
from convrag_dhrag.database import HistoryDatabase, cluster_rows, compute_recencies

_TRIPLE_DIGITS = 6
# More than a triple's: the mean of many triples is less similar to a question that matches one
_GROUP_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Group:
    """The best group of a tier.

    Its number among the tier's groups, the positions of its triples in the database, in order, the
    position of the one nearest to their mean, and the question's similarity with that mean.
    """

    number: int
    members: tuple[int, ...]
    representative: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Match:
    """The match of a question in each tier; a small database has no clusters and summaries.

    `triple` is a position in the database, and `similarity` is the question's with that triple.
    """

    cluster: Group | None
    summary: Group | None
    triple: int
    similarity: float


@dataclass(frozen=True, slots=True)
class TierSizes:
    """The most clusters, the fewest triples to cluster, and the most summaries of a cluster."""

    max_clusters: int
    min_triples: int
    summaries: int


def match_question(question: str, database: HistoryDatabase, sizes: TierSizes) -> Match | None:
    """Match a question by TF-IDF, tier by tier; None where no triple has a term of it."""
    rows, similarities = database.vocabulary.weigh(
        [triple.terms for triple in database.triples], question
    )
    similarities = similarities.round(_TRIPLE_DIGITS)
    if not similarities.any():
        return None
    cluster = summary = None
    n = len(similarities)
    if n >= sizes.min_triples:
        cluster = _match_group(
            rows, range(n), min(sizes.max_clusters, max(2, isqrt(n))), similarities
        )
        summary = _match_group(rows, cluster.members, sizes.summaries, similarities)
    positions = summary.members if summary else range(n)
    triple = max(positions, key=lambda position: (similarities[position], position))
    return Match(cluster, summary, triple, float(similarities[triple]))


def _match_group(
    rows: csr_matrix, positions: Sequence[int], k: int, similarities: NDArray[np.float64]
) -> Group:
    """Divide triples into at most k groups, and return the one most similar to the question.

    Similarity is that of the group's mean; of equal groups the first is taken.

    A zero row is in no group.
    """
    groups = [
        [positions[index] for index in found] for found in cluster_rows(rows[list(positions)], k)
    ]
    nearness = [_compute_similarity(rows[members], similarities[members]) for members in groups]
    number = nearness.index(max(nearness))
    members = groups[number]
    inside = rows[members]
    closeness = np.round(inside @ np.asarray(inside.sum(axis=0)).ravel(), _GROUP_DIGITS)
    return Group(number, tuple(members), members[int(np.argmax(closeness))], nearness[number])


def _compute_similarity(rows: csr_matrix, similarities: NDArray[np.float64]) -> float:
    """Compute the cosine of the question with the mean of rows, from its similarities with them."""
    length = float(np.sqrt(np.square(np.asarray(rows.sum(axis=0))).sum()))
    return round(float(similarities.sum()) / length, _GROUP_DIGITS)


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
    """The terms of a score; relevance, recency and their weighted sum `base` are from 0 to 1."""

    relevance: float
    recency: float
    base: float
    cluster_bonus: float
    summary_bonus: float
    chain_bonus: float

    @property
    def total(self) -> float:
        """The sum by which exchanges are ranked."""
        return round(
            self.base + self.cluster_bonus + self.summary_bonus + self.chain_bonus, _DIGITS
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected triples by position, oldest first, their scores, and the question's match."""

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
        """List the turns of the matched summary, oldest first; none where nothing matched."""
        positions = self.match.summary.members if self.match and self.match.summary else ()
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
        trace: dict[str, Any] = {}
        for tier, found in (("cluster", self.match.cluster), ("summary", self.match.summary)):
            if found:
                trace[tier] = {
                    "number": found.number,
                    "turns": [triples[member].turn.id for member in found.members],
                    "representative": triples[found.representative].turn.id,
                    "similarity": found.similarity,
                }
        trace["triple"] = {
            "turn_id": triples[self.match.triple].turn.id,
            "similarity": self.match.similarity,
        }
        return trace


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
    kept = []
    if last_exchange:
        kept.append(len(scores) - 1)
    if matched_exchange and match:
        kept.append(match.triple)
    by_score = sorted(range(len(scores)), key=lambda position: (-scores[position].total, -position))
    selected = sorted(list(dict.fromkeys([*kept, *by_score]))[:top_k])
    return Selection(
        [(position, scores[position]) for position in selected], match, chain, database
    )


def _score_all(
    similarities: NDArray[np.float64],
    chain: int,
    match: Match | None,
    database: HistoryDatabase,
    weights: Weights,
) -> list[Score]:
    """Score all triples. A similarity below 0 counts as 0."""
    in_cluster = match.cluster.members if match and match.cluster else ()
    in_summary = match.summary.members if match and match.summary else ()
    recencies = compute_recencies([triple.number for triple in database.triples])
    scores = []
    for position, (triple, recency) in enumerate(zip(database.triples, recencies, strict=True)):
        relevance = min(max(float(similarities[position]), 0.0), 1.0)
        score = Score(
            relevance=round(relevance, _DIGITS),
            recency=round(recency, _DIGITS),
            base=round(weights.alpha * relevance + (1 - weights.alpha) * recency, _DIGITS),
            cluster_bonus=weights.cluster if position in in_cluster else 0.0,
            summary_bonus=weights.summary if position in in_summary else 0.0,
            chain_bonus=weights.chain if triple.chain == chain else 0.0,
        )
        scores.append(score)
    return scores
