"""The two kinds of clusterers, of embeddings and of words, without their algorithms; and how both number clusters."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from convrag import Clusterer, ConfigError, Embedder
from convrag.sdk.words import stem_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_VOCABULARY = 1000
"""Words that a topic model knows, the most frequent ones (GINGER's)."""

SCORE_DECIMALS = 9
"""Scores of topics that agree so far differ by rounding: the first topic counts."""

_ROW_DECIMALS = 6  # rows that agree so far differ by rounding
_WORD = re.compile(r"[^\W\d_]+")


class EmbeddingClusterer(Clusterer):
    """Clusters texts by their embeddings.

    A text of which the embedder knows nothing (a zero row) is like no other: an outlier. Texts whose rows are all equal
    are one cluster. Only the other cases are left to an algorithm.
    """

    libraries = ("numpy", "scikit-learn")

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("sklearn")

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """N texts -> (n,) labels, numbered in the order in which the clusters appear; -1 is an outlier."""
        import numpy as np

        labels = np.full(len(texts), -1, dtype=np.int64)
        if len(texts):
            rows = embedder.embed(list(texts))
            known = np.flatnonzero(rows.any(axis=1))
            several = count_distinct_rows(rows[known]) > 1
            labels[known] = renumber_labels(self._label_rows(rows[known])) if several else 0
        return labels

    @abstractmethod
    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """(n, d) unit rows, at least two of them different -> (n,) labels, negative for outliers."""


class TopicClusterer(Clusterer):
    """Clusters texts by the topic that their words belong to most; a text without words is an outlier.

    `shortest` is the number of letters of the shortest word that counts.
    """

    libraries = ("numpy", "scikit-learn")
    shortest: int

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("sklearn")

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """N texts -> (n,) labels, numbered in the order in which the topics appear; the embedder is not used."""
        import numpy as np

        stems = [_stem_text(text, self.shortest) for text in texts]
        with_words = [index for index, found in enumerate(stems) if found]
        labels = np.full(len(texts), -1, dtype=np.int64)
        if with_words:
            labels[with_words] = renumber_labels(self._find_topics([stems[index] for index in with_words]))
        return labels

    @abstractmethod
    def _find_topics(self, texts: list[list[str]]) -> NDArray[np.int64]:
        """The stems of n texts, at least one each -> (n,) topics, negative for texts whose words are too rare."""


def count_distinct_rows(rows: NDArray[np.float32]) -> int:
    """The number of different rows."""
    return len({row.tobytes() for row in rows.round(_ROW_DECIMALS) + 0.0})  # + 0.0 turns -0.0 into 0.0


def renumber_labels(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) labels of the same clusters, numbered from 0 in the order in which they appear; negative ones become -1."""
    import numpy as np

    numbers: dict[int, int] = {}
    found = (int(label) for label in labels)
    return np.array([-1 if label < 0 else numbers.setdefault(label, len(numbers)) for label in found], dtype=np.int64)


def choose_cluster_count(n: int, least: int = 2, most: int = 7) -> int:
    """The root of the number of texts, rounded down, between two limits: the number of clusters of the MMR seed."""
    return max(least, min(most, int(n**0.5)))


def check_shortest(shortest: int) -> None:
    """Raise ConfigError for a `shortest` that is no number of letters."""
    if shortest < 1:
        raise ConfigError(f"clusterer.shortest={shortest}: at least 1 letter")


def _stem_text(text: str, shortest: int) -> list[str]:
    """The stems of a text's words, in order, without stop words and words of fewer letters."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = (word.lower() for word in _WORD.findall(text))
    return stem_words([word for word in words if len(word) >= shortest and word not in ENGLISH_STOP_WORDS])
