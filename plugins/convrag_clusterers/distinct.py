"""The labels of texts from the labels of their different ones; how few texts are clustered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MIN_DISTINCT = 4
"""Different texts from which on they are clustered (as for clusterer=bertopic).

Of fewer, each is a cluster of its own.
"""


def spread_labels(labels: Sequence[int], positions: Sequence[int]) -> list[int]:
    """Return the labels of n texts, given those of the m different ones among them.

    Equal texts share a cluster. So an outlier that occurs several times is a cluster.

    Args:
        labels: the labels of the m different texts; negative for outliers.
        positions: for each of the n texts, the position of its equal among the m.
    """
    counts = Counter(positions)
    free = max(labels, default=-1) + 1
    own_labels: list[int] = []
    for position, label in enumerate(labels):
        is_repeated_outlier = label < 0 and counts[position] > 1
        own_labels.append(free + position if is_repeated_outlier else label)
    return [own_labels[position] for position in positions]
