"""`clusterer=similarity`: texts connected by the similarity of their embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from convrag_clusterers.embeddings import EmbeddingClusterer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DECIMALS = 6  # similarities that agree so far differ by rounding


@dataclass(kw_only=True, eq=False)
class SimilarityClusterer(EmbeddingClusterer):
    """Cluster texts whose similarity reaches a threshold, directly or through other texts.

    The clusters are the connected components of the graph of similar texts. So two texts of a
    cluster may be less similar than the threshold. A text that is similar to no other is a cluster
    of its own. GINGER compared such clusters with spaCy's word vectors as its embedder; any
    embedder works here.

    Args:
        threshold: the least cosine similarity of two texts that are connected. More makes more,
            tighter clusters. How large is large depends on the embedder.
    """

    libraries = ("numpy", "scipy")

    threshold: Annotated[float, Interval(ge=-1, le=1)] = 0.5

    def load_libraries(self) -> None:
        """Import SciPy, in one thread."""
        import_module("scipy.sparse.csgraph")

    def _label_rows(self, rows: NDArray[np.float32]) -> NDArray[np.int64]:
        import numpy as np
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        similarities = (rows @ rows.T).round(_DECIMALS)
        connected = csr_array(similarities >= self.threshold)
        _, labels = connected_components(connected, directed=False)
        return np.asarray(labels, dtype=np.int64)
