"""Groups merged nuggets into clusters, and ranks them; see GingerGenerator for the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convrag import Clusterer, ConfigError, ConvragError, Embedder, Ranker
from convrag_ginger.clusters import SEPARATOR, Cluster, OutlierPolicy, group_by_label
from convrag_ginger.duplicates import MergedNugget


class NuggetClusterer:
    """Clusters nuggets with the run's clusterer, and scores the clusters with its ranker.

    Args:
        clusterer: labels the nuggets, and describes their topics.
        embedder: is given to the clusterer, and finds the nearest cluster of an outlier.
        ranker: scores the clusters, their nuggets joined.
        few: the fewest nuggets that are clustered; fewer are a cluster each.
        least: the fewest nuggets of a cluster.
        outliers: what becomes of nuggets that belong to no cluster.

    Raises:
        ConfigError: `least` is below 1, or larger than 1 with outliers that are clusters of one.
    """

    def __init__(
        self,
        clusterer: Clusterer,
        embedder: Embedder,
        ranker: Ranker,
        *,
        few: int,
        least: int,
        outliers: OutlierPolicy,
    ) -> None:
        if least < 1:
            raise ConfigError(f"generator.least_nuggets={least}: at least 1")
        if least > 1 and outliers == "singletons":
            raise ConfigError(
                f"generator.least_nuggets={least}: generator.outliers=singletons makes clusters of one nugget; "
                "choose generator.outliers=own, nearest or drop"
            )
        self.clusterer = clusterer
        self.embedder = embedder
        self.ranker = ranker
        self.few = few
        self.least = least
        self.outliers = outliers

    def cluster(self, query: str, nuggets: Sequence[MergedNugget]) -> list[Cluster]:
        """Scored clusters in the order in which they appear in the passages; none without nuggets."""
        if not nuggets:
            return []
        texts = [nugget.text for nugget in nuggets]
        labels, groups, words = self._group(texts)
        scores = self.ranker.score(query, [SEPARATOR.join(texts[index] for index in members) for members in groups])
        if len(scores) != len(groups):
            raise ConvragError(f"{type(self.ranker).__name__} gave {len(scores)} scores for {len(groups)} clusters")
        return [
            Cluster(
                tuple(nuggets[index] for index in members),
                float(score),
                all(labels[index] < 0 for index in members),
                tuple(words.get(number, ())),
            )
            for number, (members, score) in enumerate(zip(groups, scores, strict=True))
        ]

    def _group(self, texts: Sequence[str]) -> tuple[list[int], list[list[int]], Mapping[int, Sequence[str]]]:
        """The label of each text, the groups of their positions, and group -> words of its topic, if it has any."""
        if len(texts) < self.few:
            labels = list(range(len(texts)))
            return labels, [[index] for index in labels], {}
        labels = [int(label) for label in self.clusterer.cluster(texts, self.embedder)]
        if len(labels) != len(texts):
            raise ConvragError(f"{type(self.clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts")
        groups = group_by_label(labels, texts, self.embedder, self.outliers, self.least)
        numbers = {index: number for number, members in enumerate(groups) for index in members}
        words = self.clusterer.describe(texts, [numbers.get(index, -1) for index in range(len(texts))])
        return labels, groups, words
