"""`retriever=qdrant` in a folder, and `retriever=pgvector` on a real server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import ConfigError, Embedder, Hit, Passage, Query, Retriever
from convrag.sdk.search.corpus import open_passages
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag_retrieval.dense import DenseRetriever
from convrag_vector_databases.pgvector import PgvectorRetriever
from convrag_vector_databases.qdrant import QdrantRetriever
from filter_toys import Letters, check_filters, make_passages
from postgres_server import PostgresServer
from toys import Corpora

pytest.importorskip("qdrant_client")
pytest.importorskip("pgvector")


class Words(Embedder):
    """Counts words, hashed to columns. It is killed when `left` texts are embedded."""

    fingerprint = series = "words"

    def __init__(self, width: int = 64, left: int = 1_000_000) -> None:
        self.width, self.left = width, left
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.left -= len(texts)
        if self.left < 0:
            raise KeyboardInterrupt
        self.embedded += [] if query else texts
        rows = np.array(
            [[text.count(chr(97 + n)) + n / 99 for n in range(self.width)] for text in texts],
            dtype="f4",
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def texts_of(name: str, n: int = 40) -> list[Passage]:
    rng = np.random.default_rng(len(name))
    return [
        Passage(f"{name}{i}", "".join(map(chr, rng.integers(97, 123, 30))), f"T{i}", "u", {"n": i})
        for i in range(n)
    ]


def dataset_of(**domains: Sequence[Passage]) -> Corpora:
    dataset = Corpora(**domains)
    dataset.series = "toys"
    return dataset


MAKERS = [
    pytest.param(QdrantRetriever, id="qdrant"),
    pytest.param(
        PgvectorRetriever, id="pgvector", marks=[pytest.mark.cluster, pytest.mark.integration]
    ),
]


@pytest.fixture(autouse=True)
def _address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    monkeypatch.setattr(
        "qdrant_client.common.client_warnings.SEEN_MESSAGES", set()
    )  # what it says once, in each test
    if "pgvector" in request.node.name:
        server: PostgresServer = request.getfixturevalue("vector_postgres")
        monkeypatch.setenv("PGVECTOR_URL", server.make_database())


def show(hits: Sequence[Hit]) -> list[tuple[Passage, float]]:
    return [(hit.passage, round(hit.score, 4)) for hit in hits]


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.store = Store(tmp_path)

    def make(self) -> Retriever:
        return QdrantRetriever(
            dataset=Corpora(default=passages()), embedder=Words(), store=self.store
        )

    @pytest.mark.slow  # qdrant-client takes long to be imported
    def test_a_new_process_gives_the_same(self) -> None:
        super().test_a_new_process_gives_the_same()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("vectors", ["exact", "hnsw"])
def test_each_domain_is_searched_as_by_dense(tmp_path: Path, make: Any, vectors: str) -> None:
    dataset = dataset_of(a=texts_of("a"), bb=texts_of("bb"))
    stages: dict[str, Any] = {"dataset": dataset, "embedder": Words(), "store": Store(tmp_path)}
    retriever, dense = make(**stages, vectors=vectors), DenseRetriever(**stages)
    for domain in ("a", "bb"):
        queries = [Query("hello", domain=domain), Query("zebra", 0.5, domain=domain)]
        assert show(retriever.retrieve(queries, 7)) == show(dense.retrieve(queries, 7))
    served = open_passages(dataset, "a", stages["store"])
    assert served is not None
    assert served.get_by_id(["a3", "nothing", "a1"]) == [
        dataset.passages["a"][3],
        dataset.passages["a"][1],
    ]
    assert make(**stages, vectors=vectors).index()[0].endswith(" already")


@pytest.mark.parametrize("make", MAKERS)
def test_queries_for_words_are_left_out(tmp_path: Path, make: Any) -> None:
    stages: dict[str, Any] = {
        "dataset": dataset_of(default=texts_of("a")),
        "embedder": Words(),
        "store": Store(tmp_path),
    }
    retriever = make(**stages)
    both = [Query("hello", search="lexical"), Query("zebra", search="dense")]
    assert show(retriever.retrieve(both, 5)) == show(retriever.retrieve([Query("zebra")], 5))


@pytest.mark.parametrize("make", MAKERS)
def test_a_build_goes_on_and_takes_the_place_of_the_one_before(tmp_path: Path, make: Any) -> None:
    store, old, new = Store(tmp_path), texts_of("a"), texts_of("cccc")
    before = make(dataset=dataset_of(default=old), embedder=Words(), store=store)
    before.index()
    stages: dict[str, Any] = {"dataset": dataset_of(default=new), "store": store, "batch_size": 8}
    with pytest.raises(KeyboardInterrupt):
        make(**stages, embedder=Words(left=22)).index()
    assert show(before.retrieve([Query(old[5].content)], 1)) == [(old[5], 1.0)]  # meanwhile
    embedder = Words()
    after = make(**stages, embedder=embedder)
    assert "40 passages" in after.index()[0]
    assert (
        "16 of them from an earlier attempt" in make.__name__
        or len(set(embedder.embedded) - {new[0].content}) == 24
    )
    assert show(after.retrieve([Query(new[39].content)], 1)) == [(new[39], 1.0)]
    alias, table = after._name("default")
    assert after._database.find(alias) == table
    with pytest.raises(ConfigError):  # the old one is gone
        after._database.count(before._name("default").table)


@pytest.mark.parametrize("make", MAKERS)
def test_vectors_of_another_length_are_explained(tmp_path: Path, make: Any) -> None:
    retriever = make(
        dataset=dataset_of(default=texts_of("a")), embedder=Words(), store=Store(tmp_path)
    )
    retriever.index()
    retriever.embedder = Words(width=32)
    with pytest.raises(ConfigError, match=r"(?is)cannot be used: .*(dimension|shape|aligned)"):
        retriever.retrieve([Query("hello")], 3)


def test_a_server_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages: dict[str, Any] = {
        "dataset": dataset_of(default=texts_of("a")),
        "embedder": Words(),
        "store": Store(tmp_path),
    }
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PGVECTOR_URL", "postgresql://me:hunter2@127.0.0.1:9/db")
    for make in (QdrantRetriever, PgvectorRetriever):
        with pytest.raises(
            ConfigError, match=r"127.0.0.1:9.* cannot be used: .*refused.* See that"
        ) as caught:
            make(**stages).index()
        assert "hunter2" not in str(caught.value)


@pytest.mark.cluster
@pytest.mark.integration
def test_a_server_without_the_extension(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres: PostgresServer,
) -> None:
    monkeypatch.setenv("PGVECTOR_URL", postgres.make_database())
    stages: dict[str, Any] = {
        "dataset": dataset_of(default=texts_of("a")),
        "embedder": Words(),
        "store": Store(tmp_path),
    }
    with pytest.raises(
        ConfigError, match=r"(?s)vector.*is not available.*Install pgvector on the server"
    ):
        PgvectorRetriever(**stages).index()


def test_random_filters_find_the_same_in_a_folder_of_qdrant(tmp_path: Path) -> None:
    given = make_passages()
    retriever = QdrantRetriever(
        dataset=Corpora(default=given), embedder=Letters(), store=Store(tmp_path)
    )
    retriever.prepare()
    check_filters(retriever, given, count=40, seed=2)


def test_a_collection_from_before_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "dataset": Corpora(default=make_passages(5)),
        "embedder": Letters(),
        "store": Store(tmp_path),
    }
    with monkeypatch.context() as before:
        before.setattr("convrag_vector_databases.qdrant.describe_fields", lambda passage: {})
        QdrantRetriever(**options).prepare()
    retriever = QdrantRetriever(**options)
    assert retriever.retrieve([Query("steam")], 3)
    with pytest.raises(ConfigError, match="was built before passages had fields"):
        QdrantRetriever(**options, filter="product=kettle").prepare()
