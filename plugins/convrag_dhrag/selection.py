"""Selects the exchanges that a question needs: those with the best scores, and others that are always kept."""

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
_GROUP_DIGITS = 9  # more than a triple's: the mean of many triples is less similar to a question that matches one


@dataclass(frozen=True, slots=True)
class Group:
    """The positions of its triples in the database, in order, and the position of the one nearest to their mean."""

    members: tuple[int, ...]
    representative: int


@dataclass(frozen=True, slots=True)
class GroupMatch:
    """The best group of a tier: its number among the tier's groups, and the question's similarity with its mean."""

    number: int
    group: Group
    similarity: float


@dataclass(frozen=True, slots=True)
class Match:
    """What a question matches in each tier; a small database has no clusters and summaries.

    `triple` is a position in the database, and `similarity` is the question's with that triple.
    """

    cluster: GroupMatch | None
    summary: GroupMatch | None
    triple: int
    similarity: float

    def in_cluster(self, position: int) -> bool:
        """Whether the triple at this position is in the matched cluster."""
        return self.cluster is not None and position in self.cluster.group.members

    def in_summary(self, position: int) -> bool:
        """Whether the triple at this position is in the matched summary."""
        return self.summary is not None and position in self.summary.group.members


@dataclass(frozen=True, slots=True)
class TierSizes:
    """The most clusters, the fewest triples that are clustered, and the most summaries of a cluster."""

    max_clusters: int
    min_triples: int
    summaries: int


def match_question(question: str, database: HistoryDatabase, sizes: TierSizes) -> Match | None:
    """Match a question by TF-IDF, tier by tier; None where no triple has a term of it."""
    rows, similarities = database.vocabulary.weigh([triple.terms for triple in database.triples], question)
    similarities = similarities.round(_TRIPLE_DIGITS)
    if not similarities.any():
        return None
    cluster = summary = None
    if len(similarities) >= sizes.min_triples:
        cluster = _match_group(build_clusters(rows, sizes.max_clusters), rows, similarities)
        summary = _match_group(build_summaries(rows, cluster.group, sizes.summaries), rows, similarities)
    positions = summary.group.members if summary else range(len(similarities))
    triple = max(positions, key=lambda position: (similarities[position], position))
    return Match(cluster, summary, triple, float(similarities[triple]))


def build_clusters(rows: csr_matrix, most: int) -> list[Group]:
    """Group triples by topic, into at most min(most, max(2, sqrt n)) clusters. A zero row is in no cluster.

    Args:
        rows: (n, d) unit or zero rows, which alone determine the result.
        most: the most clusters.
    """
    n = rows.shape[0]
    return _build_groups(rows, range(n), min(most, max(2, isqrt(n))))


def build_summaries(rows: csr_matrix, cluster: Group, most: int) -> list[Group]:
    """Divide a cluster into at most `most` groups; a representative triple summarises each."""
    return _build_groups(rows, cluster.members, most)


def _build_groups(rows: csr_matrix, positions: range | tuple[int, ...], k: int) -> list[Group]:
    groups = cluster_rows(rows[list(positions)], k)
    return [_build_group(rows, tuple(positions[index] for index in found)) for found in groups]


def _build_group(rows: csr_matrix, members: tuple[int, ...]) -> Group:
    inside = rows[list(members)]
    closeness = np.round(inside @ np.asarray(inside.sum(axis=0)).ravel(), _GROUP_DIGITS)
    return Group(members, members[int(np.argmax(closeness))])


def _match_group(groups: Sequence[Group], rows: csr_matrix, similarities: NDArray[np.float64]) -> GroupMatch:
    """The group whose mean is most similar to the question; of equals the first."""
    matches = [GroupMatch(number, group, _similarity(group, rows, similarities)) for number, group in enumerate(groups)]
    return max(matches, key=lambda match: (match.similarity, -match.number))


def _similarity(group: Group, rows: csr_matrix, similarities: NDArray[np.float64]) -> float:
    """The cosine of the question with the mean of the group's rows."""
    members = list(group.members)
    length = float(np.sqrt(np.square(np.asarray(rows[members].sum(axis=0))).sum()))
    return round(float(similarities[members].sum()) / length, _GROUP_DIGITS)


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
