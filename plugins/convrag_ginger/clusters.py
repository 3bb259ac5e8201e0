"""Clusters of nuggets: built from a clusterer's labels, outliers included, and ranked as texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from convrag import Embedder, Ranker
from convrag_ginger.duplicates import MergedNugget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OutlierPolicy = Literal["own", "singletons", "nearest", "drop"]

SEPARATOR = ";\n"
"""Between the nuggets of a cluster, which is ranked as one text: one nugget on each line; ranker=size counts lines."""


@dataclass(frozen=True)
class Cluster:
    """Nuggets that belong together, and their relevance."""

    nuggets: tuple[MergedNugget, ...]
    score: float
    outlier: bool = False

    @property
    def members(self) -> list[int]:
        """The positions of all original nuggets, in order."""
        return sorted(member for nugget in self.nuggets for member in nugget.members)


def group_by_label(
    labels: Sequence[int], texts: Sequence[str], embedder: Embedder, policy: OutlierPolicy
) -> list[list[int]]:
    """The positions of each cluster's texts, in the order in which the clusters appear.

    Args:
        labels: of n texts; -1 is an outlier.
        texts: the n texts.
        embedder: finds the nearest cluster of an outlier.
        policy: what becomes of outliers: one cluster of all of them ("own"), one cluster each ("singletons"), members
            of the most similar cluster ("nearest"), nothing ("drop"). Where all texts are outliers, or an outlier is
            similar to no cluster, they are singletons with any of the last three.
    """
    clusters: dict[int, list[int]] = {}
    outliers = []
    for index, label in enumerate(labels):
        if label < 0:
            outliers.append(index)
        else:
            clusters.setdefault(label, []).append(index)
    groups = list(clusters.values())
    if policy == "own":
        groups += [outliers] if outliers else []
    elif policy == "nearest" and groups and outliers:
        groups = _assign_outliers(groups, outliers, embedder.embed(list(texts)))
    elif policy != "drop" or not groups:
        groups += [[index] for index in outliers]
    return sorted(groups)


def _assign_outliers(groups: list[list[int]], outliers: list[int], rows: NDArray[np.float32]) -> list[list[int]]:
    """Put each outlier into the group with the nearest centroid; the centroids are those without outliers."""
    import numpy as np

    means = np.stack([rows[members].mean(axis=0) for members in groups])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    centroids = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
    assigned = [list(members) for members in groups]
    for index in outliers:
        similarities = centroids @ rows[index]
        best = int(similarities.argmax())
        if similarities[best] > 0:
            assigned[best].append(index)
        else:
            assigned.append([index])
    return [sorted(members) for members in assigned]


class SizeRanker(Ranker):
    """Rank clusters by the number of their nuggets, whatever the query: a baseline.

    It counts lines: each nugget of a cluster stands on a line of its own. Of passages, those with more lines come
    first. Source: the order of clusters in GINGER's public code.
    """

    libraries = ("bm25s", "numpy")

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """The number of lines of each text that are not blank, (n,) float64."""
        import numpy as np

        return np.array([sum(1 for line in text.splitlines() if line.strip()) for text in texts], dtype=np.float64)
