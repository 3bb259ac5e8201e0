"""What the clusterers of vectors share: the cases in which no algorithm is needed, and labels in a fixed order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import Clusterer, Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DECIMALS = 6  # rows that agree so far differ by rounding


class VectorClusterer(Clusterer):
    """Groups texts by their embeddings.

    A text that the embedder knows nothing of (a zero row) is like no other: an outlier. Texts whose rows are all the
    same are one cluster. Only what is left is a case for an algorithm.
    """

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """N texts -> (n,) labels, numbered in the order in which the clusters appear; -1 is an outlier."""
        import numpy as np

        labels = np.full(len(texts), -1, dtype=np.int64)
        if len(texts):
            rows = embedder.embed(list(texts))
            known = np.flatnonzero(rows.any(axis=1))
            labels[known] = in_order(self._labels(rows[known])) if distinct(rows[known]) > 1 else 0
        return labels

    @abstractmethod
    def _labels(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """(n, d) unit rows, two of them different at least -> (n,) labels, negative for outliers."""


def distinct(rows: NDArray[np.float32]) -> int:
    """How many different rows there are."""
    return len({row.tobytes() for row in rows.round(_DECIMALS) + 0.0})  # + 0.0 turns -0.0 into 0.0


def in_order(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same clusters, numbered from 0 in the order in which they appear; whatever is negative becomes -1."""
    import numpy as np

    numbers: dict[int, int] = {}
    found = (int(label) for label in labels)
    return np.array([-1 if label < 0 else numbers.setdefault(label, len(numbers)) for label in found], dtype=np.int64)


def rule_of_thumb(n: int, least: int = 2, most: int = 7) -> int:
    """The root of the number of texts, rounded down, within limits: the count of clusters of the MMR seed."""
    return max(least, min(most, int(n**0.5)))
