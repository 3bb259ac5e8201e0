"""Vectors of texts that are embedded once, and texts in clusters."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag.api.errors import ConvragError
from convrag.api.stage import Embedder
from convrag.api.stages import Clusterer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def embed_new(
    embedder: Embedder, texts: Sequence[str], known: MutableMapping[str, Any]
) -> NDArray[np.float32]:
    """Embed n texts, at least one, (n, d); only those are embedded that are new.

    Args:
        embedder: embeds texts.
        texts: the texts, maybe with repetitions.
        known: text -> vector of texts that were embedded before; new ones are added.
    """
    import numpy as np

    new = [text for text in dict.fromkeys(texts) if text not in known]
    if new:
        known.update(zip(new, embedder.embed(new), strict=True))
    return np.stack([known[text] for text in texts])


def cluster_texts(clusterer: Clusterer, texts: Sequence[str], embedder: Embedder) -> list[int]:
    """Cluster n texts: n labels, negative for outliers.

    Raises:
        ConvragError: there are more or fewer labels than texts.
    """
    labels = [int(label) for label in clusterer.cluster(texts, embedder)]
    if len(labels) != len(texts):
        raise ConvragError(
            f"{type(clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts"
        )
    return labels


def separate_outliers(labels: Sequence[int]) -> list[int]:
    """Give each outlier a label of its own."""
    free = max(labels, default=-1) + 1
    return [label if label >= 0 else free + place for place, label in enumerate(labels)]
