"""Clusterers that read words instead of embeddings: topic models."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import Clusterer, ConfigError, Embedder
from convrag_clusterers.vectors import in_order, rule_of_thumb

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"[^\W\d_]+")
_VOCABULARY = 1000  # words, the most frequent ones (GINGER's)
_DECIMALS = 9  # scores that agree so far differ by rounding: the first topic counts


class TopicClusterer(Clusterer):
    """Groups texts by the topic that their words belong to most; texts without a word are outliers."""

    shortest: int

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """N texts -> (n,) labels, numbered in the order in which the topics appear; the embedder is not asked."""
        import numpy as np

        lists = [_words(text, self.shortest) for text in texts]
        spoken = [index for index, found in enumerate(lists) if found]
        labels = np.full(len(texts), -1, dtype=np.int64)
        if spoken:
            labels[spoken] = in_order(self._topics([lists[index] for index in spoken]))
        return labels

    @abstractmethod
    def _topics(self, lists: list[list[str]]) -> NDArray[np.int64]:
        """The words of n texts, at least one each -> (n,) topics, negative for texts whose words are too rare."""


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
        _check_shortest(shortest)
        self.components = components
        self.shortest = shortest
        self.seed = seed

    def _topics(self, lists: list[list[str]]) -> NDArray[np.int64]:
        import numpy as np
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.utils.extmath import randomized_svd

        matrix = TfidfVectorizer(analyzer=list, max_features=_VOCABULARY).fit_transform(lists)
        count = min(self.components or max(1, len(lists) // 2), *matrix.shape)
        left, strengths, _ = randomized_svd(matrix, count, n_iter=10, random_state=self.seed)
        scores = (left * strengths).round(_DECIMALS)
        strongest = np.abs(scores).argmax(axis=1)
        opposite = scores[np.arange(len(scores)), strongest] < 0
        topics: NDArray[np.int64] = np.where(scores.any(axis=1), 2 * strongest + opposite, -1)
        return topics


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
        _check_shortest(shortest)
        self.topics = topics
        self.shortest = shortest
        self.iterations = iterations
        self.seed = seed

    def _topics(self, lists: list[list[str]]) -> NDArray[np.int64]:
        import numpy as np
        from sklearn.decomposition import LatentDirichletAllocation
        from sklearn.feature_extraction.text import CountVectorizer

        counts = CountVectorizer(analyzer=list, max_features=_VOCABULARY).fit_transform(lists)
        number = min(self.topics or rule_of_thumb(len(lists)), len(lists))
        model = LatentDirichletAllocation(number, max_iter=self.iterations, random_state=self.seed)
        likeliest = model.fit_transform(counts).round(_DECIMALS).argmax(axis=1)
        topics: NDArray[np.int64] = np.where(counts.getnnz(axis=1) > 0, likeliest, -1)
        return topics


def _words(text: str, shortest: int) -> list[str]:
    """The stems of a text, in order, without stop words and short ones."""
    import Stemmer
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    found = (word.lower() for word in _WORD.findall(text))
    kept = [word for word in found if len(word) >= shortest and word not in ENGLISH_STOP_WORDS]
    stems: list[str] = Stemmer.Stemmer("english").stemWords(kept)  # not thread-safe, but cheap
    return stems


def _check_shortest(shortest: int) -> None:
    if shortest < 1:
        raise ConfigError(f"clusterer.shortest={shortest}: at least 1 letter")
