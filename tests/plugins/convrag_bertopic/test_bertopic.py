import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import Embedder, Pipeline
from convrag.api.errors import MissingExtra
from convrag.testing import ClustererContract
from convrag_bertopic.clusterer import BertopicClusterer

pytestmark = (
    pytest.mark.slow
)  # BERTopic's libraries compile themselves for twenty seconds in each process
needs_bertopic = pytest.mark.skipif(
    find_spec("bertopic") is None, reason="the extra bertopic is not installed"
)


class Given(Embedder):
    """Gives each different text a random direction, near that of its first word; blank ones are unknown."""

    def __init__(self, spread: float = 0.3) -> None:
        self.spread = spread
        self.asked = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.asked += 1
        return (
            np.stack([self._row(text) for text in texts])
            if texts
            else np.zeros((0, 32), dtype=np.float32)
        )

    def _row(self, text: str) -> Any:
        if not text.strip():
            return np.zeros(32, dtype=np.float32)
        row = direction(text.split()[0]) + self.spread * direction(text)
        return (row / np.linalg.norm(row)).astype(np.float32)


def direction(text: str) -> Any:
    row = np.random.default_rng(list(text.encode())).normal(size=32)
    return row / np.linalg.norm(row)


def partition(labels: Any) -> set[frozenset[int]]:
    found: dict[int, set[int]] = {}
    for index, label in enumerate(labels):
        found.setdefault(int(label), set()).add(index)
    return {frozenset(members) for members in found.values()}


@needs_bertopic
@pytest.mark.integration
class TestContract(ClustererContract):
    def make(self) -> BertopicClusterer:
        return BertopicClusterer()


@needs_bertopic
@pytest.mark.integration
class TestClustering:
    @pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 9, 10, 11, 15, 30, 60, 400])
    def test_any_number_of_texts(self, n: int) -> None:
        labels = BertopicClusterer().cluster(
            [f"{'abc'[i % 3]} {i}" for i in range(n)], Given(spread=1.5)
        )
        assert labels.shape == (n,)
        known = [label for label in dict.fromkeys(labels.tolist()) if label >= 0]
        assert known == list(range(len(known)))
        assert known, "every text is an outlier"

    def test_topics_are_found(self) -> None:
        labels = BertopicClusterer().cluster(
            [f"{'abc'[i % 3]} {i}" for i in range(30)], Given(spread=0.2)
        )
        for members in partition(labels):
            assert len({index % 3 for index in members}) == 1

    @pytest.mark.parametrize("n", [12, 40, 120])
    def test_the_partition_is_that_of_bertopic(self, n: int) -> None:
        """With the seed's parameters, precomputed embeddings, and a vectoriser that reads any text."""
        import warnings

        texts = [f"{'abcde'[i % 5]} {i}" for i in range(n)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from bertopic import BERTopic
            from hdbscan import HDBSCAN
            from sklearn.feature_extraction.text import CountVectorizer
            from umap import UMAP

            reference = BERTopic(
                embedding_model=None,
                umap_model=UMAP(
                    n_neighbors=min(50, n - 1), n_components=2, min_dist=0.01, random_state=42
                ),
                hdbscan_model=HDBSCAN(
                    min_cluster_size=2, min_samples=1, gen_min_span_tree=True, prediction_data=True
                ),
                vectorizer_model=CountVectorizer(analyzer=str.split),
                calculate_probabilities=True,
            )
            expected, _ = reference.fit_transform(texts, Given().embed(texts))
        labels = BertopicClusterer().cluster(texts, Given())
        assert partition(labels) == partition(expected)
        assert [label < 0 for label in labels] == [topic < 0 for topic in expected]

    def test_equal_texts_share_a_cluster(self) -> None:
        texts = [f"{'abc'[i % 3]} {i % 9}" for i in range(60)]
        labels = BertopicClusterer().cluster(texts, Given(spread=2.0)).tolist()
        assert all(labels[i] == labels[i % 9] >= 0 for i in range(60))

    def test_topics_have_the_words_of_bertopic(self) -> None:
        """BERTopic's own fit gives them for the same texts and topics."""
        import warnings

        kinds = ["red kettlewhistles", "blue kettleboils", "old kettlecools"]
        texts = [f"{kinds[i % 3]} on day {i + 10}" for i in range(30)]
        clusterer = BertopicClusterer()
        labels = clusterer.cluster(texts, Given(spread=0.2)).tolist()
        words = clusterer.describe(texts, labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from bertopic import BERTopic
            from hdbscan import HDBSCAN
            from sklearn.feature_extraction.text import CountVectorizer
            from umap import UMAP

            reference = BERTopic(
                embedding_model=None,
                umap_model=UMAP(n_neighbors=29, n_components=2, min_dist=0.01, random_state=42),
                hdbscan_model=HDBSCAN(min_cluster_size=2, min_samples=1),
                vectorizer_model=CountVectorizer(ngram_range=(1, 2), stop_words="english"),
            )
            topics, _ = reference.fit_transform(texts, Given(spread=0.2).embed(texts))
        pairs = {(label, topic) for label, topic in zip(labels, topics, strict=True) if topic >= 0}
        expected = {
            label: tuple(word for word, _ in reference.get_topic(topic)) for label, topic in pairs
        }
        assert {label: found for label, found in words.items() if label >= 0} == expected

    def test_the_words_of_given_groups(self) -> None:
        texts = [
            "Tea is green.",
            "Green tea is hot.",
            "Das Wetter ist schön.",
            "Schönes Wetter heute.",
            "alone",
        ]
        words = BertopicClusterer(topic_words=3).describe(texts, [1, 1, 0, 0, -1])
        assert list(words) == [0, 1]
        assert "wetter" in words[0]
        assert {"tea", "green"} <= set(words[1])
        assert len(words[1]) == 3

    @pytest.mark.parametrize(
        "texts", [["the", "of", "and", "to", "in"], ["?", "!", "?", "!", "-"], ["a b"] * 5]
    )
    def test_texts_without_words_have_topics_but_no_words(self, texts: list[str]) -> None:
        labels = BertopicClusterer().cluster(texts, Given()).tolist()
        assert len(labels) == len(texts)
        assert all(not found for found in BertopicClusterer().describe(texts, labels).values())


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bertopic", None)


@pytest.mark.usefixtures("absent")
def test_few_texts_need_no_library() -> None:
    cluster = BertopicClusterer().cluster
    assert cluster([], Given()).tolist() == []
    assert cluster(["a"], Given()).tolist() == [0]
    assert cluster(["a", "b"], Given()).tolist() == [0, 1]
    assert cluster(["a", "b", "a", "c"], Given()).tolist() == [0, 1, 0, 2]
    assert cluster(["a"] * 400, Given()).tolist() == [0] * 400
    assert cluster(["", "a", " ", "b"], Given()).tolist() == [-1, 0, -1, 1]


@pytest.mark.usefixtures("absent")
def test_what_is_missing_is_said(here: Path) -> None:
    with pytest.raises(MissingExtra, match=r"bertopic.*pip install .*'convrag\[bertopic\]'"):
        Pipeline.compose("clusterer=bertopic", "generator=ginger")
