"""The way from a question down to one triple: the nearest cluster, in it the nearest summary, in that the triple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from convrag_dhrag.clusters import Group, clusters, summaries
from convrag_dhrag.database import Database

_DIGITS = 6  # of a triple's similarity
_FINER = 9  # of a group's: the mean of many triples of which one matches is still a match


@dataclass(frozen=True, slots=True)
class Step:
    """One tier's choice: its number among the choices there were, its members, and the question's similarity."""

    number: int
    group: Group
    similarity: float


@dataclass(frozen=True, slots=True)
class Path:
    """What a question matched in each tier; `triple` is a place in the database. Few triples have no upper tiers."""

    cluster: Step | None
    summary: Step | None
    triple: int
    similarity: float

    def in_cluster(self, place: int) -> bool:
        """Whether the triple at this place is in the matched cluster."""
        return self.cluster is not None and place in self.cluster.group.members

    def in_summary(self, place: int) -> bool:
        """Whether the triple at this place is in the matched summary."""
        return self.summary is not None and place in self.summary.group.members


@dataclass(frozen=True, slots=True)
class Tiers:
    """How many clusters there may be, from how many triples on, and into how many summaries a cluster divides."""

    max_clusters: int
    min_triples: int
    summaries: int


def match(question: str, database: Database, tiers: Tiers) -> Path | None:
    """Follow a question down the tree; None where no triple shares a term with it."""
    texts = database.vectoriser.weigh([triple.terms for triple in database.triples])
    similarities = database.vectoriser.similarities(texts, question).round(_DIGITS)
    if not similarities.any():
        return None
    cluster = summary = None
    if texts.n >= tiers.min_triples:
        rows = database.vectoriser.rows(texts)
        cluster = _nearest(clusters(rows, tiers.max_clusters), rows, similarities)
        summary = _nearest(summaries(rows, cluster.group, tiers.summaries), rows, similarities)
    places = summary.group.members if summary else range(texts.n)
    triple = max(places, key=lambda place: (similarities[place], place))
    return Path(cluster, summary, triple, float(similarities[triple]))


def _nearest(groups: Sequence[Group], rows: csr_matrix, similarities: NDArray[np.float64]) -> Step:
    """The group whose mean is most similar to the question, the first of equals."""
    steps = [Step(number, group, _similarity(group, rows, similarities)) for number, group in enumerate(groups)]
    return max(steps, key=lambda step: (step.similarity, -step.number))


def _similarity(group: Group, rows: csr_matrix, similarities: NDArray[np.float64]) -> float:
    """The cosine of the question with the mean of the group's rows."""
    members = list(group.members)
    length = float(np.sqrt(np.square(np.asarray(rows[members].sum(axis=0))).sum()))
    return round(float(similarities[members].sum()) / length, _FINER)
