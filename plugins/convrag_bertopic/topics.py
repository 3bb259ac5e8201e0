"""Topics and their words by BERTopic.

The first call in a process imports and compiles for some ten seconds.
"""

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convrag.sdk.text.analysis import find_content_words

_MIN_SPECTRAL = 10  # for fewer texts, UMAP's spectral start has too few eigenvectors to choose from
_lock = threading.Lock()  # numba's default threading layer must not be entered by two threads


def find_topics(
    texts: Sequence[str],
    rows: NDArray[np.float32],
    *,
    neighbors: int,
    components: int,
    min_dist: float,
    min_cluster_size: int,
    min_samples: int,
    seed: int,
) -> NDArray[np.int64]:
    """Find the (n,) topics of n texts, at least 4, with (n, d) rows; -1 for outliers.

    A parameter that n texts do not allow is lowered to the largest value that they do.
    """
    n = len(rows)
    with _run_quietly():
        from bertopic import BERTopic
        from hdbscan import HDBSCAN
        from umap import UMAP

        model = BERTopic(
            # As "english" it would drop all letters but A to Z from the texts
            language="multilingual",
            embedding_model=None,
            umap_model=UMAP(
                n_neighbors=min(neighbors, n - 1),
                n_components=min(components, n - 3),
                min_dist=min_dist,
                init="spectral" if n >= _MIN_SPECTRAL else "random",
                random_state=seed,
            ),
            hdbscan_model=HDBSCAN(
                min_cluster_size=min(min_cluster_size, n),
                min_samples=min(min_samples, n - 1),
                core_dist_n_jobs=1,
            ),
            vectorizer_model=_vectorizer(texts),
        )
        topics, _ = model.fit_transform(list(texts), rows)
    return np.asarray(topics, dtype=np.int64)


def find_topic_words(
    texts: Sequence[str], topics: Sequence[int], most: int
) -> Mapping[int, tuple[str, ...]]:
    """Find the words of topics by BERTopic's class-based TF-IDF, at most `most` each.

    Terms are single words and pairs, without stop words. A negative topic is left out. Where the
    texts have less than two terms in all, no topic has any.
    """
    known = [index for index, topic in enumerate(topics) if topic >= 0]
    chosen = [texts[index] for index in known]
    if not _has_terms(chosen):
        return {}
    names = sorted({int(topics[index]) for index in known})
    with _run_quietly():
        from bertopic import BERTopic
        from bertopic.backend import BaseEmbedder
        from bertopic.cluster import BaseCluster
        from bertopic.dimensionality import BaseDimensionalityReduction

        model = BERTopic(  # "manual topic modelling": the topics are given, their words are wanted
            language="multilingual",
            embedding_model=BaseEmbedder(),
            umap_model=BaseDimensionalityReduction(),
            hdbscan_model=BaseCluster(),
            vectorizer_model=_vectorizer(chosen),
            top_n_words=most,
        )
        given = [names.index(int(topics[index])) for index in known]
        found, _ = model.fit_transform(
            chosen, np.zeros((len(chosen), 1), dtype=np.float32), y=given
        )
        words = {
            names[old]: model.get_topic(new) or [] for old, new in zip(given, found, strict=True)
        }
    return {
        topic: tuple(word for word, weight in words[topic] if word and weight > 0)
        for topic in names
    }


def _has_terms(texts: Sequence[str]) -> bool:
    """Tell whether the texts have two different terms, which BERTopic's TF-IDF needs."""
    return len({word for text in texts for word in _list_words(text)}) > 1


def _list_words(text: str) -> list[str]:
    return [word.text.lower() for word in find_content_words(text)]


def _vectorizer(texts: Sequence[str]) -> Any:
    """Make BERTopic's counts of words and pairs.

    Where the texts have no terms, these are counts that the topics do not depend on.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if _has_terms(texts):
        return CountVectorizer(ngram_range=(1, 2), tokenizer=_list_words, token_pattern=None)
    return CountVectorizer(analyzer=lambda text: ["one", "other"])


@contextmanager
def _run_quietly() -> Iterator[None]:
    """Run one thread at a time, without warnings.

    There is no TensorFlow, a seed allows one thread, and a graph may have several parts.
    """
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
