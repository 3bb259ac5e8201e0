"""Hierarchical matching: a question is matched with a cluster of triples, a summary in it, and a triple there."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from convrag_dhrag.database import HistoryDatabase
from convrag_dhrag.tfidf import cluster_rows

_TRIPLE_DIGITS = 6
_GROUP_DIGITS = 9  # more than a triple's: the mean of many triples is less similar to a question that matches one


@dataclass(frozen=True, slots=True)
class Group:
    """The positions of its triples in the database, in order, and that of the one nearest to their mean."""

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
    """Divide a cluster into at most `most` groups, each of which its representative triple summarises."""
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
