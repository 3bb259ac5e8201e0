"""Labels become clusters, and outliers find a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from convrag import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Policy = Literal["own", "singletons", "nearest", "drop"]


def groups(labels: Sequence[int], texts: Sequence[str], embedder: Embedder, policy: Policy) -> list[list[int]]:
    """The positions of each cluster's texts, in the order in which the clusters appear.

    Args:
        labels: of n texts; -1 is an outlier.
        texts: the n texts.
        embedder: tells which cluster is nearest.
        policy: what becomes of outliers: a cluster "own" to them all, "singletons", members of the "nearest" cluster,
            or nothing ("drop"). Where all are outliers, or one resembles no cluster, they are singletons all the same.
    """
    clusters: dict[int, list[int]] = {}
    outliers = []
    for index, label in enumerate(labels):
        if label < 0:
            outliers.append(index)
        else:
            clusters.setdefault(label, []).append(index)
    found = list(clusters.values())
    if policy == "own":
        found += [outliers] if outliers else []
    elif policy == "nearest" and found and outliers:
        found = _joined(found, outliers, embedder.embed(list(texts)))
    elif policy != "drop" or not found:
        found += [[index] for index in outliers]
    return sorted(found)


def _joined(found: list[list[int]], outliers: list[int], rows: NDArray[np.float32]) -> list[list[int]]:
    """Each outlier in the cluster whose mean direction is nearest; the means are those without outliers."""
    import numpy as np

    means = np.stack([rows[members].mean(axis=0) for members in found])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
    joined = [list(members) for members in found]
    for index in outliers:
        similarities = means @ rows[index]
        best = int(similarities.argmax())
        if similarities[best] > 0:
            joined[best].append(index)
        else:
            joined.append([index])
    return [sorted(members) for members in joined]
