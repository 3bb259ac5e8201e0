"""`clusterer=lda`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convrag import ConfigError
from convrag_clusterers.base_clusterers import (
    MAX_VOCABULARY,
    SCORE_DECIMALS,
    TopicClusterer,
    check_shortest,
    choose_cluster_count,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LdaClusterer(TopicClusterer):
    """Cluster texts by latent Dirichlet allocation: the likeliest topic of each; it wants more text than most.

    Words are English stems, without stop words.

    Args:
        topics: how many, never more than texts; None takes the root of the number of texts, rounded down, between 2 and
            7, as clusterer=kmeans does, so that the two can be compared.
        shortest: letters of the shortest word that counts; 4 as for clusterer=lsa.
        iterations: of the estimation; more settles the topics, and takes longer in proportion (10: scikit-learn's).
        seed: of the random start.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, topics: int | None = None, shortest: int = 4, iterations: int = 10, seed: int = 42) -> None:
        if topics is not None and topics < 1:
            raise ConfigError(f"clusterer.topics={topics}: at least 1, or null to have it chosen")
        if iterations < 1:
            raise ConfigError(f"clusterer.iterations={iterations}: at least 1")
        check_shortest(shortest)
        self.topics = topics
        self.shortest = shortest
        self.iterations = iterations
        self.seed = seed

    def _find_topics(self, texts: list[list[str]]) -> NDArray[np.int64]:
        import numpy as np
        from sklearn.decomposition import LatentDirichletAllocation
        from sklearn.feature_extraction.text import CountVectorizer

        counts = CountVectorizer(analyzer=list, max_features=MAX_VOCABULARY).fit_transform(texts)
        number = min(self.topics or choose_cluster_count(len(texts)), len(texts))
        model = LatentDirichletAllocation(number, max_iter=self.iterations, random_state=self.seed)
        likeliest = model.fit_transform(counts).round(SCORE_DECIMALS).argmax(axis=1)
        topics: NDArray[np.int64] = np.where(counts.getnnz(axis=1) > 0, likeliest, -1)
        return topics
