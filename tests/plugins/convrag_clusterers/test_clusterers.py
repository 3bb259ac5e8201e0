from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag import Clusterer, ConfigError, Embedder
from convrag.testing import ClustererContract
from convrag_clusterers.embeddings import AgglomerativeClusterer, KMeansClusterer
from convrag_clusterers.topics import LsaClusterer

BY_VECTORS = [KMeansClusterer, AgglomerativeClusterer]
BY_WORDS = [LsaClusterer]
MOON = [
    "The lunar surface is covered with craters.",
    "Craters of the lunar surface were made by meteorites.",
    "Meteorites strike the lunar surface and leave craters.",
]
TEA = [
    "Green leaves are brewed gently in a ceramic teapot.",
    "A ceramic teapot keeps brewed leaves warm.",
    "Brewed green leaves taste bitter in a ceramic teapot.",
]


class Rows(Embedder):
    """A text is the number of its row."""

    def __init__(self, rows: Any) -> None:
        rows = np.asarray(rows, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        self.rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return self.rows[[int(text) for text in texts]]


def cluster(clusterer: Clusterer, rows: Any) -> list[int]:
    return clusterer.cluster([str(n) for n in range(len(rows))], Rows(rows)).tolist()


def blobs(*sizes: int, seed: int = 0) -> Any:
    """Rows close to as many axes as there are sizes, one blob after the other."""
    noise = np.random.default_rng(seed).normal(scale=0.05, size=(sum(sizes), 16))
    return np.repeat(np.eye(16)[: len(sizes)], sizes, axis=0) + noise


class TestKMeans(ClustererContract):
    def make(self) -> KMeansClusterer:
        return KMeansClusterer()


class TestKMeansBySilhouette(ClustererContract):
    def make(self) -> KMeansClusterer:
        return KMeansClusterer(choose="silhouette")


class TestAgglomerative(ClustererContract):
    def make(self) -> AgglomerativeClusterer:
        return AgglomerativeClusterer()


class TestLsa(ClustererContract):
    def make(self) -> LsaClusterer:
        return LsaClusterer()


# All of them
# -------------------------------------------------------------------------------------------------------


def check_labels(labels: list[int], n: int) -> None:
    """Numbered from 0 in the order in which they appear, beside outliers."""
    assert len(labels) == n
    seen = [label for label in dict.fromkeys(labels) if label != -1]
    assert seen == list(range(len(seen)))


@pytest.mark.parametrize("cls", BY_VECTORS)
@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), max_size=14))
def test_any_rows_get_labels(cls: type[Clusterer], rows: list[list[int]]) -> None:
    """Zero rows, equal rows and opposite rows among them."""
    given_rows = np.array(rows).reshape(len(rows), 3)
    labels = cluster(cls(), given_rows)
    check_labels(labels, len(rows))
    assert all(label == -1 for label, row in zip(labels, rows, strict=True) if not any(row))


@pytest.mark.parametrize("cls", BY_WORDS)
@settings(max_examples=30)
@given(
    st.lists(
        st.sampled_from(
            ["", "the of", "kettle", "kettle teapot", "copper boils", "茶 été", "a of c"]
        ),
        max_size=9,
    )
)
def test_any_words_get_labels(cls: type[Clusterer], texts: list[str]) -> None:
    labels = cls().cluster(texts, Rows([[1.0]])).tolist()
    check_labels(labels, len(texts))
    wordless = ("", "the of", "a of c")
    assert all(label == -1 for label, text in zip(labels, texts, strict=True) if text in wordless)


@pytest.mark.parametrize("cls", BY_VECTORS)
@pytest.mark.parametrize("n", [1, 2, 6, 40])
def test_equal_rows_are_one_cluster(cls: type[Clusterer], n: int) -> None:
    assert cluster(cls(), [[3.0, 4.0]] * n) == [0] * n


@pytest.mark.parametrize("clusterer", [
    KMeansClusterer(k=3), KMeansClusterer(), KMeansClusterer(choose="silhouette"), AgglomerativeClusterer(),
    AgglomerativeClusterer(threshold=0.5),
])  # fmt: skip
def test_what_is_apart_is_told_apart(clusterer: Clusterer) -> None:
    assert cluster(clusterer, blobs(4, 3, 5)) == [0] * 4 + [1] * 3 + [2] * 5


@pytest.mark.parametrize("cls", BY_WORDS)
def test_topics_are_told_apart(cls: type[Clusterer]) -> None:
    labels = (
        cls()
        .cluster([MOON[0], TEA[0], MOON[1], TEA[1], "!", MOON[2], TEA[2]], Rows([[1.0]]))
        .tolist()
    )
    assert labels[4] == -1
    assert len({labels[n] for n in (0, 2, 5)}) == len({labels[n] for n in (1, 3, 6)}) == 1
    assert labels[0] != labels[1]


@pytest.mark.parametrize(("cls", "parameters"), [
    (KMeansClusterer, {"most": 1}), (AgglomerativeClusterer, {"k": 2, "threshold": 0.5}),
])  # fmt: skip
def test_parameters_that_contradict_each_other_are_named(
    cls: type[Clusterer], parameters: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=rf"clusterer\.{next(iter(parameters))}="):
        cls(**parameters)


# Each of them
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "k"),
    [(1, 1), (2, 2), (3, 2), (8, 2), (9, 3), (16, 4), (48, 6), (49, 7), (64, 7), (400, 7)],
)
def test_kmeans_follows_the_root_within_its_limits(n: int, k: int) -> None:
    rows = np.random.default_rng(n).normal(size=(n, 12))
    assert len(set(cluster(KMeansClusterer(), rows))) == k


def test_kmeans_makes_no_more_clusters_than_there_are_different_texts() -> None:
    assert cluster(KMeansClusterer(k=5), [[1, 0], [0, 1], [1, 0], [0, 1]]) == [0, 1, 0, 1]
    assert cluster(KMeansClusterer(), np.repeat(np.eye(3), 10, axis=0)).count(2) == 10


def test_silhouette_finds_the_number_where_the_root_does_not() -> None:
    rows = blobs(10, 10)  # the root of 20 is 4
    assert cluster(KMeansClusterer(choose="silhouette"), rows) == [0] * 10 + [1] * 10
    assert len(set(cluster(KMeansClusterer(), rows))) == 4


def test_lsa_takes_the_strongest_component_whatever_its_sign() -> None:
    """Against an exact decomposition: opposite ends of a component are different clusters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    generator = np.random.default_rng(3)
    words = np.array([f"{one}{other}kk" for one in "bcdf" for other in "bcdfg"])
    texts = [" ".join(generator.choice(words, 4)) for _ in range(40)]
    left, strengths, _ = np.linalg.svd(
        TfidfVectorizer().fit_transform(texts).toarray(), full_matrices=False
    )
    scores = (left * strengths)[:, :10]
    strongest = np.abs(scores).argmax(axis=1)
    ends = [(int(at), bool(scores[n, at] < 0)) for n, at in enumerate(strongest)]
    assert len(set(ends)) > len(set(strongest.tolist()))  # some components have texts at both ends
    labels = LsaClusterer(components=10).cluster(texts, Rows([[1.0]])).tolist()
    numbers: dict[tuple[int, bool], int] = {}
    assert labels == [numbers.setdefault(end, len(numbers)) for end in ends]


def test_topics_of_texts_without_spaces() -> None:
    texts = ["停车场在大楼后面。", "停车场晚上关门。", "食堂供应午餐。", "食堂的午餐很便宜。"]
    assert LsaClusterer().cluster(texts, Rows(np.zeros((4, 1)))).tolist() == [0, 0, 1, 1]


def test_words_cut_from_the_vocabulary_leave_an_outlier() -> None:
    """1000 words that occur twice push out one that occurs once."""
    often = ["".join("bcdfghjklm"[int(digit)] for digit in f"{n:04}") for n in range(1000)]
    texts = [" ".join(often), " ".join(often), "zzzzb"]
    assert LsaClusterer().cluster(texts, Rows([[1.0]])).tolist()[2] == -1
