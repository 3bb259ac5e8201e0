"""Clusters of nuggets: made by a clusterer, outliers included, and ranked as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from convrag import Clusterer, ConvragError, Embedder, Nugget, Ranker
from convrag.sdk.search.vectors import cluster_texts
from convrag.sdk.text.analysis import split_words
from convrag_ginger.length_limit import find_numbers_and_negations, stem_content

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


OutlierPolicy = Literal["own", "singletons", "nearest", "drop"]

SEPARATOR = ";\n"
"""Separates the nuggets of a cluster, which is ranked as one text; ranker=size counts lines."""


@dataclass(frozen=True)
class Cluster:
    """Nuggets that belong together.

    Args:
        nuggets: the nuggets.
        score: their relevance.
        outlier: whether the clusterer found all of them to belong to no cluster.
        words: the words of their topic, where the clusterer has any.
    """

    nuggets: tuple[MergedNugget, ...]
    score: float
    outlier: bool = False
    words: tuple[str, ...] = ()

    @property
    def members(self) -> list[int]:
        """The positions of all original nuggets, in order."""
        return sorted(member for nugget in self.nuggets for member in nugget.members)

    def trace(self) -> dict[str, Any]:
        """Make the trace's row: the positions of its nuggets, and words where there are any."""
        row = {"nuggets": self.members, "score": self.score, "outlier": self.outlier}
        if self.words:
            row["words"] = list(self.words)
        return row


def group_by_label(
    labels: Sequence[int],
    texts: Sequence[str],
    embedder: Embedder,
    policy: OutlierPolicy,
    least: int = 1,
) -> list[list[int]]:
    """Find the positions of each cluster's texts, in the order in which the clusters appear.

    Args:
        labels: the labels of n texts; -1 is an outlier.
        texts: the n texts.
        embedder: finds the nearest cluster of an outlier.
        policy: the treatment of outliers: one cluster of all of them ("own"), one cluster each
            ("singletons"), members of the most similar cluster ("nearest"), left out ("drop").
            Where all texts are outliers, or an outlier is similar to no cluster, they are
            singletons with any of the last three.
        least: the fewest texts of a cluster; the texts of a smaller one are outliers. With 2 or
            more, outliers that are fewer than this ("own") or similar to no cluster join the
            nearest one, and where fewer than two clusters are left, each text is a cluster
            (GINGER).
    """
    clusters: dict[int, list[int]] = {}
    for index, label in enumerate(labels):
        clusters.setdefault(label, []).append(index)
    groups = [
        members for label, members in clusters.items() if label >= 0 and len(members) >= least
    ]
    grouped = {index for members in groups for index in members}
    outliers = [index for index in range(len(texts)) if index not in grouped]
    if policy == "own" and outliers and len(outliers) >= least:
        groups.append(outliers)
        outliers = []
    if least > 1 and len(groups) < 2:
        return [[index] for index in range(len(texts))]
    if not outliers:
        return sorted(groups)
    if policy == "drop" and groups:
        return sorted(groups)
    if least > 1:
        return sorted(_assign_outliers(groups, outliers, embedder.embed(list(texts)), least=-2.0))
    if policy == "nearest" and groups:
        return sorted(_assign_outliers(groups, outliers, embedder.embed(list(texts))))
    return sorted([*groups, *([index] for index in outliers)])


def _assign_outliers(
    groups: list[list[int]], outliers: list[int], rows: NDArray[np.float32], least: float = 0.0
) -> list[list[int]]:
    """Put each outlier into the group with the nearest centroid, if its cosine is above `least`.

    The centroids are those without outliers.
    """
    import numpy as np

    means = np.stack([rows[members].mean(axis=0) for members in groups])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    centroids = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
    assigned = [list(members) for members in groups]
    for index in outliers:
        similarities = centroids @ rows[index]
        best = int(similarities.argmax())
        if similarities[best] > least:
            assigned[best].append(index)
        else:
            assigned.append([index])
    return [sorted(members) for members in assigned]


class SizeRanker(Ranker):
    """Rank clusters by the number of their nuggets, whatever the query: a baseline.

    It counts lines, since each nugget of a cluster has a line of its own. Passages with more lines
    come first. Source: the order of clusters in GINGER's public code.
    """

    libraries = ("numpy",)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Count the lines of each text that are not blank, (n,) float64."""
        import numpy as np

        return np.array(
            [sum(1 for line in text.splitlines() if line.strip()) for text in texts],
            dtype=np.float64,
        )


@dataclass
class NuggetClusterer:
    """Clusters nuggets with the run's clusterer, and scores the clusters with its ranker.

    Args:
        clusterer: labels the nuggets, and describes their topics.
        embedder: is given to the clusterer, and finds the nearest cluster of an outlier.
        ranker: scores the clusters, their nuggets joined.
        few: the fewest nuggets that are clustered; fewer are a cluster each.
        least: the fewest nuggets of a cluster.
        outliers: the treatment of nuggets that belong to no cluster.
    """

    clusterer: Clusterer
    embedder: Embedder
    ranker: Ranker
    few: int
    least: int
    outliers: OutlierPolicy

    def cluster(self, query: str, nuggets: Sequence[MergedNugget]) -> list[Cluster]:
        """Cluster nuggets and score the clusters, in the order of their first nuggets."""
        if not nuggets:
            return []
        texts = [nugget.text for nugget in nuggets]
        labels, groups, words = self._group(texts)
        joined = [SEPARATOR.join(texts[index] for index in members) for members in groups]
        scores = self.ranker.score(query, joined)
        if len(scores) != len(groups):
            raise ConvragError(
                f"{type(self.ranker).__name__} gave {len(scores)} scores for {len(groups)} clusters"
            )
        clusters = []
        for number, (members, score) in enumerate(zip(groups, scores, strict=True)):
            cluster = Cluster(
                tuple(nuggets[index] for index in members),
                score=float(score),
                outlier=all(labels[index] < 0 for index in members),
                words=tuple(words.get(number, ())),
            )
            clusters.append(cluster)
        return clusters

    def _group(
        self, texts: Sequence[str]
    ) -> tuple[list[int], list[list[int]], Mapping[int, Sequence[str]]]:
        """Group texts: the label of each, the groups of their positions, and the groups' words."""
        if len(texts) < self.few:
            labels = list(range(len(texts)))
            return labels, [[index] for index in labels], {}
        labels = cluster_texts(self.clusterer, texts, self.embedder)
        groups = group_by_label(labels, texts, self.embedder, self.outliers, self.least)
        group_of = [-1] * len(texts)
        for number, members in enumerate(groups):
            for index in members:
                group_of[index] = number
        return labels, groups, self.clusterer.describe(texts, group_of)


@dataclass(frozen=True)
class MergedNugget:
    """Nuggets that say the same.

    Args:
        nugget: the one that says most.
        members: the positions of all of them in the original list.
    """

    nugget: Nugget
    members: tuple[int, ...]

    @property
    def text(self) -> str:
        """Return the text of the nugget that says most, on one line."""
        return " ".join(self.nugget.text.split())


def merge_duplicates(nuggets: Sequence[Nugget], threshold: float) -> list[MergedNugget]:
    """Merge each nugget into the longest one that contains it, in order of first appearance.

    A nugget contains another one that is a part of its text. Otherwise, the other's content words
    must occur in it in the same order, make up at least a share of `threshold` of its content
    words, and both must have the same numbers and negations.
    """
    keys = [_ComparisonKey(nugget.text, threshold) for nugget in nuggets]
    longest_first = sorted(
        range(len(nuggets)), key=lambda index: (-len(keys[index].stems), -len(keys[index].text))
    )
    groups: dict[int, list[int]] = {}
    for index in longest_first:
        containers = (longer for longer in groups if keys[index].is_contained_in(keys[longer]))
        container = next(containers, index)
        groups.setdefault(container, []).append(index)
    merged = [
        MergedNugget(nuggets[longest], tuple(sorted(members)))
        for longest, members in groups.items()
    ]
    return sorted(merged, key=lambda each: each.members)


class _ComparisonKey:
    """A nugget's words, in the form in which nuggets are compared."""

    def __init__(self, text: str, threshold: float) -> None:
        self.text = f" {' '.join(split_words(text))} "
        self.stems = stem_content(text)
        self.numbers_and_negations = find_numbers_and_negations(text)
        self.threshold = threshold

    def is_contained_in(self, other: _ComparisonKey) -> bool:
        if self.text.strip() and self.text in other.text:
            return True
        if not self.stems or self.numbers_and_negations != other.numbers_and_negations:
            return False
        if len(self.stems) < self.threshold * len(other.stems):
            return False
        rest = iter(other.stems)  # `in` consumes it, so that the order must be the same
        return all(stem in rest for stem in self.stems)
