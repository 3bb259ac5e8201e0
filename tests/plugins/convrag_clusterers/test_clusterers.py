from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag import Clusterer, ConfigError, Embedder
from convrag.testing import ClustererContract
from convrag_clusterers.density import DbscanClusterer, HdbscanClusterer
from convrag_clusterers.distinct import spread_labels
from convrag_clusterers.embeddings import AgglomerativeClusterer, KMeansClusterer
from convrag_clusterers.similarity import SimilarityClusterer
from convrag_clusterers.topics import LdaClusterer, LsaClusterer

BY_DENSITY = [DbscanClusterer, HdbscanClusterer]
BY_VECTORS = [KMeansClusterer, AgglomerativeClusterer, SimilarityClusterer, *BY_DENSITY]
BY_WORDS = [LsaClusterer, LdaClusterer]
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


class TestDbscan(ClustererContract):
    def make(self) -> DbscanClusterer:
        return DbscanClusterer()


class TestHdbscan(ClustererContract):
    def make(self) -> HdbscanClusterer:
        return HdbscanClusterer()


class TestSimilarity(ClustererContract):
    def make(self) -> SimilarityClusterer:
        return SimilarityClusterer()


class TestLda(ClustererContract):
    def make(self) -> LdaClusterer:
        return LdaClusterer()


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
    AgglomerativeClusterer(threshold=0.5), DbscanClusterer(), SimilarityClusterer(),
    HdbscanClusterer(min_cluster_size=3, min_samples=3),
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
    others = [texts[0], f"{texts[0]} {often[0]}", f"{texts[0]} {often[1]}", "zzzzb"]
    assert LdaClusterer().cluster(others, Rows([[1.0]])).tolist()[3] == -1


@pytest.mark.parametrize(
    "clusterer", [DbscanClusterer(), HdbscanClusterer(min_cluster_size=3, min_samples=3)]
)
def test_density_leaves_outliers(clusterer: Clusterer) -> None:
    rows = np.concatenate([blobs(5, 5), -np.eye(16)[:2]])
    assert cluster(clusterer, rows) == [0] * 5 + [1] * 5 + [-1, -1]


@pytest.mark.parametrize("cls", BY_DENSITY)
def test_three_different_rows_have_no_density(cls: type[Clusterer]) -> None:
    """As for clusterer=bertopic: each is a cluster, and equal ones share it."""
    near = [[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]]
    assert cluster(cls(), near) == [0, 1, 2]
    assert cluster(cls(), [*near, near[1], [0.0, 0.0]]) == [0, 1, 2, 1, -1]
    assert set(cluster(cls(), [*near, [1.0, 0.3]])) <= {0, 1, -1}


def test_an_outlier_that_occurs_twice_is_a_cluster() -> None:
    rows = np.concatenate([blobs(3), -np.eye(16)[:2], -np.eye(16)[:1]])
    assert cluster(DbscanClusterer(), rows) == [0, 0, 0, 1, -1, 1]
    assert spread_labels([-1, 0, -1], [0, 1, 2, 0]) == [1, 0, -1, 1]


def test_dbscan_reaches_as_far_as_its_distance() -> None:
    """The second is at a cosine distance of .29 from the first and the third; all others are 1."""
    rows = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert cluster(DbscanClusterer(eps=0.3), rows) == [0, 0, 0, -1]
    assert cluster(DbscanClusterer(eps=0.28), rows) == [-1] * 4
    assert cluster(DbscanClusterer(eps=0.28, min_samples=1), rows) == [0, 1, 2, 3]


def test_hdbscan_takes_what_the_texts_allow() -> None:
    labels = cluster(HdbscanClusterer(min_cluster_size=50, min_samples=50), blobs(3, 3))
    assert labels == [-1] * 6


def test_similarity_connects_texts_through_others() -> None:
    """The ends of a chain have nothing in common."""
    rows = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert cluster(SimilarityClusterer(threshold=0.7), rows) == [0, 0, 0, 1]
    assert cluster(SimilarityClusterer(threshold=0.75), rows) == [0, 1, 2, 3]
    assert cluster(SimilarityClusterer(threshold=-1), rows) == [0, 0, 0, 0]


def test_similarity_puts_equal_texts_together_at_any_threshold() -> None:
    rows = np.random.default_rng(5).normal(size=(20, 7))
    assert cluster(SimilarityClusterer(threshold=1), np.repeat(rows, 2, axis=0)) == [
        label for label in range(20) for _ in range(2)
    ]


def test_lda_has_the_topics_of_scikit_learn() -> None:
    """Find the likeliest topic of each text by a model of the same counts."""
    from sklearn.decomposition import LatentDirichletAllocation

    words = ["crater", "lunar", "orbit", "kettle", "teapot", "brewer"]
    rows = np.random.default_rng(2).integers(0, 4, size=(12, len(words)))
    texts = [
        " ".join(word for word, count in zip(words, row, strict=True) for _ in range(count))
        for row in rows
    ]
    assert len(set(texts)) == 12
    columns = np.argsort(words)
    model = LatentDirichletAllocation(4, max_iter=10, random_state=42)
    expected = model.fit_transform(rows[:, columns]).argmax(axis=1).tolist()
    labels = LdaClusterer(topics=4).cluster(texts, Rows([[1.0]])).tolist()
    assert labels == [list(dict.fromkeys(expected)).index(topic) for topic in expected]


def test_three_different_texts_have_no_topics() -> None:
    texts = [MOON[0], TEA[0], MOON[1], MOON[0], "!"]
    assert LdaClusterer().cluster(texts, Rows([[1.0]])).tolist() == [0, 1, 2, 0, -1]
