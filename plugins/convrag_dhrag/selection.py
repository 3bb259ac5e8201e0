"""Which exchanges a question needs: the last one, and those that score best."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convrag import Turn
from convrag_dhrag.database import Database
from convrag_dhrag.hierarchical_matching import Path, Tiers, match
from convrag_dhrag.scoring import Score, Weights, recencies, score


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen triples' places in the database, oldest first, with their scores, and what the question matched."""

    chosen: list[tuple[int, Score]]
    path: Path | None
    chain: int
    database: Database

    @property
    def turns(self) -> list[Turn]:
        """The chosen turns in the order of the conversation."""
        return [self.database.triples[place].turn for place, _ in self.chosen]

    def trace(self) -> dict[str, Any]:
        """Plain data for the turn's record: every selected turn and why it was selected."""
        return {
            "system": "dhrag",
            "available": len(self.database.triples),
            "selected": [turn.id for turn in self.turns],
            "reasons": [self._reason(place, terms) for place, terms in self.chosen],
            "match": self._matched(),
            "chain": self.chain,
            "chains": [*self.database.chains, self.chain],
        }

    def summary(self) -> list[Turn]:
        """The turns of the matched summary; none where nothing matched."""
        places = self.path.summary.group.members if self.path and self.path.summary else ()
        return [self.database.triples[place].turn for place in places]

    def _reason(self, place: int, terms: Score) -> dict[str, Any]:
        triples = self.database.triples
        return {
            "turn_id": triples[place].turn.id,
            "last": place == len(triples) - 1,
            "matched": self.path is not None and place == self.path.triple,
            "score": terms.total,
            **asdict(terms),
            "chain": triples[place].chain,
        }

    def _matched(self) -> dict[str, Any] | None:
        if self.path is None:
            return None
        triples = self.database.triples
        return {
            tier: {
                "number": step.number,
                "turns": [triples[member].turn.id for member in step.group.members],
                "representative": triples[step.group.representative].turn.id,
                "similarity": step.similarity,
            }
            for tier, step in (("cluster", self.path.cluster), ("summary", self.path.summary))
            if step
        } | {"triple": {"turn_id": triples[self.path.triple].turn.id, "similarity": self.path.similarity}}


def select(
    question: str, vector: NDArray[np.float32], database: Database, *, top_k: int, weights: Weights, tiers: Tiers
) -> Selection:
    """Choose at most top_k exchanges: the last one, the triple to which the tiers lead, and those that score best.

    Recency is worth more than any bonus, so in a long conversation a match would lose to what was said lately if it
    had to compete. Of equal scores the later one wins.
    """
    similarities = database.similarities(vector)
    chain = database.chain(similarities)
    path = match(question, database, tiers)
    scores = _scores(similarities, chain, path, database, weights)
    last = len(scores) - 1
    matched = path.triple if path else last
    order = sorted(range(last), key=lambda place: (place != matched, -scores[place].total, -place))
    chosen = sorted([*order[: top_k - 1], last])
    return Selection([(place, scores[place]) for place in chosen], path, chain, database)


def _scores(
    similarities: NDArray[np.float64], chain: int, path: Path | None, database: Database, weights: Weights
) -> list[Score]:
    """The scores of all triples."""
    recency = recencies([triple.number for triple in database.triples])
    return [
        score(
            weights,
            float(similarities[place]),
            recency[place],
            cluster=path is not None and path.in_cluster(place),
            summary=path is not None and path.in_summary(place),
            chain=triple.chain == chain,
        )
        for place, triple in enumerate(database.triples)
    ]
