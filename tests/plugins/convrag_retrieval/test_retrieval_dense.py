import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag.api.errors import ConvragError
from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.stage import Embedder
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.vectors import FILE, Vectors
from toys import Corpora


class Table(Embedder):
    """Vectors by text, brought to unit length; unknown texts are zero rows. Remembers what it was given."""

    def __init__(self, width: int = 2, **vectors: Sequence[float]) -> None:
        self.width = width
        self.vectors = vectors
        self.asked: list[tuple[int, bool]] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.asked.append((len(texts), query))
        rows = np.array(
            [self.vectors.get(text, np.zeros(self.width)) for text in texts], dtype=np.float32
        )
        rows = rows.reshape(len(texts), self.width)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    @property
    def embedded(self) -> int:
        """How many passages it was given."""
        return sum(count for count, query in self.asked if not query)


class Words(Embedder):
    """Counts words, hashed to 64 columns: enough to find a passage by its words."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(word.encode()) % 64] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def corpus_of(vectors: dict[str, Sequence[float]]) -> tuple[Corpora, Table]:
    """Passages whose text is their id, and an embedder that knows their vectors."""
    width = len(next(iter(vectors.values())))
    return Corpora(default=[Passage(name, name) for name in vectors]), Table(width, **vectors)


COMPASS = {"north": [0, 1], "east": [1, 0], "south": [0, -1], "west": [-1, 0], "northeast": [1, 1]}


def compass(store: Store, **parameters: Any) -> DenseRetriever:
    dataset, embedder = corpus_of(COMPASS)
    return DenseRetriever(dataset=dataset, embedder=embedder, store=store, **parameters)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.store = Store(tmp_path)

    def make(self) -> DenseRetriever:
        return DenseRetriever(
            dataset=Corpora(default=passages()), embedder=Words(), store=self.store
        )


# The search
# -------------------------------------------------------------------------------------------------------


def vectors_of(rows: Any, folder: Path, block: int) -> Vectors:
    np.save(folder / FILE, np.asarray(rows, dtype=np.float32))
    return Vectors(folder, block=block)


def unit(rows: Any) -> Any:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def brute_force(rows: Any, vector: Any, k: int) -> list[tuple[int, float]]:
    """All products in double precision, sorted by product and position."""
    scores = [sum(float(a) * float(b) for a, b in zip(row, vector, strict=True)) for row in rows]
    order = sorted(range(len(rows)), key=lambda position: (-round(scores[position], 12), position))
    return [(position, scores[position]) for position in order[:k]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


def test_a_query_of_another_length_is_an_error(folder: Path) -> None:
    vectors = vectors_of([[1.0, 0.0]], folder, block=10)
    with pytest.raises(ConvragError, match=r"vectors of 2 numbers, .* now gives 3"):
        vectors.search(np.array([1.0, 0.0, 0.0]), 1)


NUMBERS = st.integers(-2, 2).map(float)  # few of them, so that rows are often equal


@settings(max_examples=150)
@given(
    rows=st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=40),
    vector=st.lists(NUMBERS, min_size=3, max_size=3).filter(any),
    k=st.integers(1, 12),
    block=st.integers(1, 50),
)
def test_the_search_is_that_of_brute_force(
    folder: Path, rows: Any, vector: Any, k: int, block: int
) -> None:
    rows, vector = unit(np.array(rows)).astype(np.float32), unit(np.array(vector))
    found = vectors_of(rows, folder, block).search(vector, k)
    expected = brute_force(rows, vector, k)
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected], abs=1e-6
    )
    positions = [position for position, _ in found]
    assert len(set(positions)) == len(positions)
    # Different rows may be equally near but for rounding, so positions are compared by how near
    # they are.
    assert [float(rows[position] @ vector) for position in positions] == pytest.approx(
        [s for _, s in found], abs=1e-6
    )


@pytest.mark.parametrize("block", [7, 100, 5000])
def test_equal_rows_are_equal_wherever_they_stand(tmp_path: Path, block: int) -> None:
    """A product of matrix and vector in float32 tells equal rows apart, by where they stand in a
    block of seven.
    """
    rng = np.random.default_rng(5)
    rows = unit(rng.normal(size=(1000, 384)))
    rows[::5] = rows[0]
    vector = unit(rows[0] + 0.01 * rng.normal(size=384))
    found = vectors_of(rows, tmp_path, block).search(vector, 250)
    assert [position for position, _ in found[:200]] == list(range(0, 1000, 5))
    assert len({score for _, score in found[:200]}) == 1


# Queries
# ----------------------------------------------------------------------------------------------------------


def test_the_closest_come_first_with_their_cosines(store: Store) -> None:
    hits = compass(store).retrieve([Query("north")], 5)
    assert ids(hits) == ["north", "northeast", "east", "west", "south"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0, 0, -1])


def test_weighted_vectors_are_added_and_normalised(store: Store) -> None:
    hits = compass(store).retrieve([Query("north", weight=3.0), Query("east", weight=4.0)], 5)
    assert ids(hits) == ["northeast", "east", "north", "south", "west"]
    assert [hit.score for hit in hits] == pytest.approx([1.4 * 0.5**0.5, 0.8, 0.6, -0.6, -0.8])
    assert ids(compass(store).retrieve([Query("north"), Query("east", weight=-1.0)], 2)) == [
        "north",
        "west",
    ]


def test_a_query_of_weight_zero_adds_nothing(store: Store) -> None:
    retriever = compass(store)
    alone = retriever.retrieve([Query("north")], 5)
    assert retriever.retrieve([Query("north"), Query("east", weight=0.0)], 5) == alone
    assert retriever.retrieve([Query("east", weight=0.0)], 5) == []


def test_what_comes_to_nothing_finds_nothing(store: Store) -> None:
    retriever = compass(store)
    assert retriever.retrieve([], 5) == []
    assert retriever.retrieve([Query("north")], 0) == []
    assert retriever.retrieve([Query("words that the embedder does not know")], 5) == []
    assert retriever.retrieve([Query("north"), Query("south")], 5) == []
    tenths = [Query("northeast", 0.1), Query("northeast", 0.2), Query("northeast", -0.3)]
    assert retriever.retrieve(tenths, 5) == [], (
        "nothing but the rounding of 0.1 + 0.2 - 0.3 is left"
    )
    assert ids(retriever.retrieve([Query("north", 1e-12)], 1)) == ["north"]


def test_equal_scores_keep_the_order_of_the_corpus_at_every_cutoff(store: Store) -> None:
    vectors = {f"p{n}": [1, n % 2] for n in range(7)}
    dataset, embedder = corpus_of(vectors | {"query": [1, 0]})
    retriever = DenseRetriever(dataset=dataset, embedder=embedder, store=store)
    expected = ["p0", "p2", "p4", "p6", "query", "p1", "p3", "p5"]
    for k in range(1, 10):
        assert ids(retriever.retrieve([Query("query")], k)) == expected[:k]


def test_given_passages_score_as_they_do_when_found(store: Store) -> None:
    retriever = compass(store)
    queries = [Query("north"), Query("east", weight=0.5)]
    found = {hit.passage.id: hit.score for hit in retriever.retrieve(queries, 5)}
    wanted = ["west", "nowhere", "northeast", "south"]
    assert retriever.scores(queries, wanted) == {id_: found[id_] for id_ in wanted if id_ in found}
    assert retriever.scores([Query("?")], ["west"]) == {"west": 0.0}
    assert retriever.scores([Query("north")], ["north", "south"]) == pytest.approx(
        {"north": 1.0, "south": -1.0}
    )


# The index
# --------------------------------------------------------------------------------------------------------


def test_passages_are_embedded_in_batches_with_their_titles(store: Store) -> None:
    texts = {f"T\nx{n}": [1, n] for n in range(10)}
    embedder = Table(2, **texts)
    dataset = Corpora(default=[Passage(f"p{n}", f"x{n}", title="T") for n in range(10)])
    retriever = DenseRetriever(dataset=dataset, embedder=embedder, store=store, batch_size=4)
    retriever.prepare()
    assert embedder.asked == [(4, False), (4, False), (2, False)]
    rows = retriever._open("default").rows.rows.stored
    assert rows.dtype == np.float32
    assert np.allclose(rows, unit(np.array(list(texts.values()), dtype=float)))


def test_a_second_instance_maps_the_same_vectors_and_embeds_nothing(store: Store) -> None:
    def build(
        fingerprint: str, vectors: dict[str, Sequence[float]] = COMPASS
    ) -> tuple[DenseRetriever, Table]:
        dataset, embedder = corpus_of(vectors)
        embedder.fingerprint = fingerprint
        retriever = DenseRetriever(
            dataset=dataset, embedder=embedder, store=store, batch_size=1 + len(fingerprint)
        )
        retriever.prepare()
        return retriever, embedder

    first, embedder = build("one")
    again, idle = build("one")
    assert (embedder.embedded, idle.embedded) == (5, 0)
    assert isinstance(again._open("default").rows.rows.stored, np.memmap)
    assert again.retrieve([Query("north")], 5) == first.retrieve([Query("north")], 5)
    assert build("another model")[1].embedded == 5
    other, idle = build("one", {"north": [0, 1]})
    assert ids(other.retrieve([Query("north")], 5)) == ["north"], "another corpus is another index"
    assert idle.embedded == 0, "whose texts are known"
    assert build("")[1].embedded == build("")[1].embedded == 5, (
        "nobody knows whether these are the same"
    )


def test_the_store_remembers_queries_and_no_passages(store: Store) -> None:
    retriever = compass(store)
    retriever.embedder.fingerprint = "table"
    remember(retriever.embedder, store)
    retriever.prepare()

    def remembered() -> int:
        with sqlite3.connect(store.path / "store.sqlite") as connection:
            (count,) = connection.execute("SELECT count(*) FROM entries").fetchone()
        connection.close()
        return int(count)

    assert remembered() == 0
    retriever.retrieve([Query("north"), Query("east")], 3)
    assert remembered() == 2
    assert retriever.embedder.asked == [(5, False), (2, True)]


def test_many_threads_share_one_index_that_is_built_once(store: Store) -> None:
    retriever = compass(store)
    barrier = threading.Barrier(8)

    def work(_: int) -> list[list[Hit]]:
        barrier.wait()
        return [retriever.retrieve([Query(name)], 3) for _ in range(20) for name in COMPASS]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert all(result == results[0] for result in results)
    assert retriever.embedder.embedded == 5


def test_what_cannot_be(store: Store) -> None:
    empty = DenseRetriever(dataset=Corpora(moon=[]), embedder=Words(), store=store)
    assert list(empty.check()) == ["the data set has no passages to search for the domain 'moon'."]
