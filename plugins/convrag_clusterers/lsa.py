"""`clusterer=lsa`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import ConfigError
from convrag_clusterers.base_clusterers import (
    MAX_VOCABULARY,
    SCORE_DECIMALS,
    TopicClusterer,
    check_shortest,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LsaClusterer(TopicClusterer):
    """Cluster texts by latent semantic analysis: TF-IDF, truncated SVD, and the component that is strongest.

    A component has two ends, and texts at opposite ends have nothing in common: they are different clusters. A text
    that no component says anything of is an outlier. Words are English stems, without stop words.

    Args:
        components: how many; never more than texts or words. None takes half the number of texts (GINGER's).
        shortest: letters of the shortest word that counts (4: GINGER drops words of three letters and fewer).
        seed: of the randomised decomposition (42: GINGER's).

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, components: int | None = None, shortest: int = 4, seed: int = 42) -> None:
        if components is not None and components < 1:
            raise ConfigError(f"clusterer.components={components}: at least 1, or null for half the number of texts")
        check_shortest(shortest)
        self.components = components
        self.shortest = shortest
        self.seed = seed

    def _find_topics(self, texts: list[list[str]]) -> NDArray[np.int64]:
        import numpy as np
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.utils.extmath import randomized_svd

        matrix = TfidfVectorizer(analyzer=list, max_features=MAX_VOCABULARY).fit_transform(texts)
        count = min(self.components or max(1, len(texts) // 2), *matrix.shape)
        left, strengths, _ = randomized_svd(matrix, count, n_iter=10, random_state=self.seed)
        scores = (left * strengths).round(SCORE_DECIMALS)
        strongest = np.abs(scores).argmax(axis=1)
        opposite = scores[np.arange(len(scores)), strongest] < 0
        topics: NDArray[np.int64] = np.where(scores.any(axis=1), 2 * strongest + opposite, -1)
        return topics
