"""The upper tiers: topics of the conversation, and in each of them a few groups that a representative stands for."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from scipy.sparse import csr_matrix

from convrag_dhrag.kmeans import kmeans


@dataclass(frozen=True, slots=True)
class Group:
    """Members by their places among the rows, in order, and the one that is nearest to their mean."""

    members: tuple[int, ...]
    representative: int


def clusters(rows: csr_matrix, most: int) -> list[Group]:
    """Group triples by what they are about, into at most min(most, max(2, sqrt n)) topics.

    The result depends on the rows alone, not on how they came. A zero row is in no cluster.
    """
    n = rows.shape[0]
    return _groups(rows, range(n), min(most, max(2, isqrt(n))))


def summaries(rows: csr_matrix, cluster: Group, most: int) -> list[Group]:
    """Divide a cluster into at most `most` groups; each is known by its representative triple."""
    return _groups(rows, cluster.members, most)


def _groups(rows: csr_matrix, places: range | tuple[int, ...], k: int) -> list[Group]:
    labels = kmeans(rows[list(places)], k)
    members = [np.flatnonzero(labels == label) for label in range(labels.max(initial=-1) + 1)]
    return [_group(rows, tuple(places[index] for index in found)) for found in members]


def _group(rows: csr_matrix, members: tuple[int, ...]) -> Group:
    inside = rows[list(members)]
    closeness = np.round(inside @ np.asarray(inside.sum(axis=0)).ravel(), 9)
    return Group(members, members[int(np.argmax(closeness))])
