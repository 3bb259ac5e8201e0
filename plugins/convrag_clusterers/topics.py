"""`clusterer=lsa` and `clusterer=lda`: texts are clustered by the topics of their words."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Interval

from convrag import Clusterer, Embedder
from convrag.sdk.text.analysis import UNSPACED, Form, find_content_words, stem_words
from convrag.sdk.threads import limit_to_one_thread
from convrag_clusterers.distinct import MIN_DISTINCT, spread_labels
from convrag_clusterers.embeddings import choose_cluster_count, renumber_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_VOCABULARY = 1000
"""Words that a topic model knows, the most frequent ones (GINGER's)."""

SCORE_DECIMALS = 9
"""Scores of topics that agree so far differ by rounding: the first topic counts."""

_WORD = re.compile(r"[^\W\d_]+")


class TopicClusterer(Clusterer):
    """Clusters texts by the topics of their words; a text without words is an outlier.

    Args:
        shortest: see the options.
        words: see the options.
    """

    libraries: ClassVar[tuple[str, ...]] = ("numpy", "scikit-learn")
    uses_embedder = False

    shortest: int
    words: Form

    def load_libraries(self) -> None:
        """Import scikit-learn, in one thread."""
        import_module("sklearn")

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """Label n texts, (n,): topics are numbered as they appear. The embedder is not used."""
        import numpy as np

        stems = [_stem_text(text, self.shortest, self.words) for text in texts]
        with_words = [index for index, found in enumerate(stems) if found]
        labels = np.full(len(texts), -1, dtype=np.int64)
        if with_words:
            labels[with_words] = renumber_labels(
                self._find_topics([stems[index] for index in with_words])
            )
        return labels

    @abstractmethod
    def _find_topics(self, texts: list[list[str]]) -> NDArray[np.int64]:
        """Find the (n,) topics of n stemmed texts; negative for texts whose words are too rare."""


@dataclass(kw_only=True, eq=False)
class LsaClusterer(TopicClusterer):
    """Cluster texts by latent semantic analysis: TF-IDF, truncated SVD, strongest component.

    A component has two ends, and texts at opposite ends have nothing in common: they are different
    clusters. A text that no component says anything of is an outlier.

    Args:
        components: how many; never more than texts or words. None takes half the number of texts
            (GINGER's).
        shortest: letters of the shortest word that counts (4: GINGER drops words of three letters
            and fewer).
        words: "auto" has stems of content words in any language (`convrag.sdk.text.analysis`);
            "plain" English stems of letters alone, as GINGER has lemmas (clusterer=lsa_plain).
        seed: of the randomised decomposition (42: GINGER's).
    """

    components: Annotated[int | None, Ge(1)] = None
    shortest: Annotated[int, Ge(1)] = 4
    words: Literal["auto", "plain"] = "auto"
    seed: Annotated[int, Interval(ge=0, le=4_294_967_295)] = 42

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


@dataclass(kw_only=True, eq=False)
class LdaClusterer(TopicClusterer):
    """Cluster texts by latent Dirichlet allocation: the likeliest topic of the words of each.

    Texts of the same words count once, and share a cluster. Three different texts or fewer are
    clusters of their own (as for clusterer=bertopic). A text whose words are all too rare is an
    outlier. The model estimates topics from the words that texts share, so it needs more text than
    other clusterers.

    Args:
        topics: how many, never more than different texts. None takes the root of the number of
            different texts, rounded down, between 2 and 7, as clusterer=kmeans does of all texts,
            so that the two can be compared.
        shortest: letters of the shortest word that counts (4: as for clusterer=lsa).
        words: "auto" or "plain", as for clusterer=lsa.
        iterations: of the estimation (10: scikit-learn's). More settles the topics, and takes
            longer in proportion.
        seed: of the random start (42: as for clusterer=lsa).
    """

    libraries = ("numpy", "scikit-learn", "threadpoolctl")

    topics: Annotated[int | None, Ge(1)] = None
    shortest: Annotated[int, Ge(1)] = 4
    words: Literal["auto", "plain"] = "auto"
    iterations: Annotated[int, Ge(1)] = 10
    seed: Annotated[int, Interval(ge=0, le=4_294_967_295)] = 42

    def _find_topics(self, texts: list[list[str]]) -> NDArray[np.int64]:
        import numpy as np

        numbers: dict[tuple[str, ...], int] = {}
        keys = [tuple(sorted(stems)) for stems in texts]
        positions = [numbers.setdefault(key, len(numbers)) for key in keys]
        labels = list(range(len(numbers)))
        if len(numbers) >= MIN_DISTINCT:
            labels = self._estimate_topics(list(numbers)).tolist()
        return np.array(spread_labels(labels, positions), dtype=np.int64)

    def _estimate_topics(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Estimate the (n,) likeliest topics of n different texts."""
        import numpy as np
        from sklearn.decomposition import LatentDirichletAllocation
        from sklearn.feature_extraction.text import CountVectorizer

        counts = CountVectorizer(analyzer=list, max_features=MAX_VOCABULARY).fit_transform(texts)
        number = min(self.topics or choose_cluster_count(len(texts)), len(texts))
        model = LatentDirichletAllocation(number, max_iter=self.iterations, random_state=self.seed)
        with limit_to_one_thread():
            shares = model.fit_transform(counts)
        likeliest = shares.round(SCORE_DECIMALS).argmax(axis=1)
        has_words = counts.getnnz(axis=1) > 0
        topics: NDArray[np.int64] = np.where(has_words, likeliest, -1)
        return topics


def _stem_text(text: str, shortest: int, words: Form) -> list[str]:
    """Stem the words of a text, in order, without stop words and short words of an alphabet."""
    if words == "auto":
        found = find_content_words(text)
        return [word.stem for word in found if len(word.text) >= shortest or word.text >= UNSPACED]
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    plain = (word.lower() for word in _WORD.findall(text))
    return stem_words(
        [word for word in plain if len(word) >= shortest and word not in ENGLISH_STOP_WORDS]
    )
