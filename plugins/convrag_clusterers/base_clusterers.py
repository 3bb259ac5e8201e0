"""Clusterers of embeddings, without their algorithms; and how all clusterers number clusters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from convrag import Clusterer, Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROW_DECIMALS = 6  # rows that agree so far differ by rounding


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
