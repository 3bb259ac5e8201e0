"""`clusterer=bertopic`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Interval

from convrag import Clusterer, Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_TEXTS = 4
"""Different texts from which on they are projected; of fewer, each is a cluster of its own."""


@dataclass(kw_only=True, eq=False)
class BertopicClusterer(Clusterer):
    """Cluster texts with BERTopic (extra `bertopic`): embeddings by UMAP and HDBSCAN, and words.

    Labels are numbered as they appear. The words that describe the topics (class-based TF-IDF of
    words and pairs) stand in the trace and in the run's report. Where n texts do not allow a
    parameter, it is as near as they do. Equal texts count once, and share a cluster. Three
    different texts or fewer are clusters of their own, without any projection; a text that the
    embedder knows nothing of is an outlier. The first call in a process imports and compiles for
    some ten seconds.

    Args:
        neighbors: texts that UMAP regards as near, n - 1 at most: more shows the whole, less the
            detail (50: GINGER).
        components: dimensions of the projection, n - 3 at most (2: GINGER).
        min_dist: how close UMAP puts texts together, 0 to 1 (.01: GINGER).
        min_cluster_size: the fewest texts of a cluster (2: GINGER).
        min_samples: neighbours that make a region dense; more makes more outliers (1: GINGER).
        seed: of UMAP's random start (42: GINGER); with a seed it runs in one thread.
        topic_words: the most words of a topic (10: BERTopic).
    """

    libraries = ("numpy", "scikit-learn")
    requires: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("bertopic", "umap", "hdbscan"), "convrag[bertopic]"
    )

    neighbors: Annotated[int, Ge(2)] = 50
    components: Annotated[int, Ge(1)] = 2
    min_dist: Annotated[float, Interval(ge=0, le=1)] = 0.01
    min_cluster_size: Annotated[int, Ge(2)] = 2
    min_samples: Annotated[int, Ge(1)] = 1
    seed: Annotated[int, Interval(ge=0, le=4_294_967_295)] = 42
    topic_words: Annotated[int, Ge(1)] = 10

    def load_libraries(self) -> None:
        """Import BERTopic, and scikit-learn with it, in one thread."""
        import_module("bertopic")

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """Label n texts, (n,): clusters are numbered as they appear, -1 is an outlier."""
        import numpy as np

        labels = np.full(len(texts), -1, dtype=np.int64)
        if not len(texts):
            return labels
        counts = Counter(texts)
        distinct = list(counts)
        rows = embedder.embed(distinct)
        known = np.flatnonzero(rows.any(axis=1)).tolist()
        texts_known = [distinct[index] for index in known]
        topics: Sequence[int] = range(len(known))
        if len(known) >= MIN_TEXTS:
            topics = self._find_topics(texts_known, rows[known])
        topic_of = dict(zip(texts_known, topics, strict=True))
        numbers: dict[object, int] = {}
        for index, text in enumerate(texts):
            topic = topic_of.get(text)
            if topic is None:
                continue
            is_outlier = topic < 0
            if is_outlier and counts[text] == 1:
                continue
            cluster = text if is_outlier else topic  # equal texts are a cluster, never outliers
            labels[index] = numbers.setdefault(cluster, len(numbers))
        return labels

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Describe each label by at most `topic_words` words and pairs, the most telling first."""
        from convrag_bertopic.topics import find_topic_words

        return (
            find_topic_words(texts, labels, self.topic_words)
            if any(label >= 0 for label in labels)
            else {}
        )

    def _find_topics(self, texts: Sequence[str], rows: NDArray[np.float32]) -> list[int]:
        from convrag_bertopic.topics import find_topics

        topics = find_topics(
            texts,
            rows,
            neighbors=self.neighbors,
            components=self.components,
            min_dist=self.min_dist,
            min_cluster_size=self.min_cluster_size,
            min_samples=self.min_samples,
            seed=self.seed,
        )
        return [int(topic) for topic in topics]
