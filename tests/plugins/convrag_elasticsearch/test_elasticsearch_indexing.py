"""task=index on the loopback server: streamed, repeated, gone on with, switched; and nothing
half-done is ever seen.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("elasticsearch")
pytest.importorskip("jsonschema")

from convrag.api.errors import ConvragError, DataError, NotReady
from convrag.api.passages import Passage
from convrag.api.queries import Query
from convrag.api.stages import Dataset
from convrag.store.store import Store
from convrag_elasticsearch.retriever import ElasticsearchRetriever
from elasticsearch_server import Fault, Index, Server, running_server
from elasticsearch_toys import Hashed, Streamed

pytestmark = pytest.mark.integration


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with running_server() as server:
        monkeypatch.setenv("ES_URL", server.address)
        monkeypatch.setattr("convrag_elasticsearch.retries.INITIAL_BACKOFF", 0.01)
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def retriever(store: Store, dataset: Dataset, **options: Any) -> ElasticsearchRetriever:
    return ElasticsearchRetriever(
        dataset=dataset, embedder=Hashed(), store=store, **{"chunk": 10, "retries": 3, **options}
    )


def only(server: Server) -> Index:
    (index,) = server.indexes.values()
    return index


def once_each(index: Index, count: int) -> bool:
    return set(index.documents) == {f"p{n}" for n in range(count)} and set(
        index.writes.values()
    ) == {1}


def test_everything_is_sent_once_in_chunks(server: Server, store: Store) -> None:
    (said,) = retriever(store, Streamed(95)).index()
    assert said == f"default: 95 passages are in {next(iter(server.indexes))}"
    assert len(server.paths("/_bulk")) == 10
    assert once_each(only(server), 95)
    assert only(server).mappings["_meta"]["convrag"]["passages"] == 95
    assert not server.paths("_mget"), "a new index holds nothing that could be there already"


def test_chunks_are_bounded_in_bytes(server: Server, store: Store) -> None:
    retriever(store, Streamed(95), chunk=1000, chunk_bytes=2000).index()
    sizes = [len(body) for _, target, _, body in server.requests if "/_bulk" in target]
    assert max(sizes) <= 2000
    assert len(sizes) > 5


def test_the_corpus_is_read_no_faster_than_it_is_sent(server: Server, store: Store) -> None:
    dataset = Streamed(100_000)
    seen: list[int] = []

    def bulk() -> None:
        seen.append(dataset.read)
        if len(seen) == 5:
            server.inject_faults(Fault("/_bulk", status=401))

    server.on_bulk = bulk
    with pytest.raises(ConvragError, match="Check ES_API_KEY"):
        retriever(store, dataset, threads=2).index()
    assert dataset.read < 2000, "it went on reading after the end"
    assert (
        seen[0] < 600
    )  # two threads, two chunks that wait, and a batch that is looked at together


def test_rejected_items_are_sent_again_and_the_others_are_not(server: Server, store: Store) -> None:
    server.inject_faults(Fault("/_bulk", times=3, status=429, items=(0, 3, 7)))
    retriever(store, Streamed(95)).index()
    assert once_each(only(server), 95)
    assert server.bulk_items == 95 + 9


def test_an_item_that_is_turned_away_for_good_ends_it_with_its_id(
    server: Server, store: Store
) -> None:
    server.inject_faults(Fault("/_bulk", times=99, status=429, items=tuple(range(10))))
    stage = retriever(store, Streamed(95), retries=2)
    with pytest.raises(
        ConvragError,
        match=r"passage 'p\d+' cannot be indexed\. Elasticsearch refused \(status 429\)",
    ):
        stage.index()
    assert not only(server).aliases


@pytest.mark.parametrize("count", [25, 2500])
def test_a_refused_passage_ends_it_at_once(count: int, server: Server, store: Store) -> None:
    server.inject_faults(Fault("/_bulk", status=400, items=(4,)))
    dataset = Streamed(count)
    with pytest.raises(ConvragError, match="passage 'p4' cannot be indexed"):
        retriever(store, dataset, threads=1).index()
    assert dataset.read < 800
    with pytest.raises(NotReady, match="run the same command with task=index"):
        retriever(store, dataset).prepare()


def test_a_broken_corpus_leaves_nothing_to_be_searched(server: Server, store: Store) -> None:
    with pytest.raises(DataError, match="line 601"):
        retriever(store, Streamed(900, broken=600)).index()
    stage = retriever(store, Streamed(900))
    with pytest.raises(ConvragError, match="task=index"):
        stage.retrieve([Query("tea")], 5)
    (said,) = stage.index()  # the file was mended
    assert once_each(only(server), 900)
    assert "of them from an earlier attempt" in said


def test_counts_that_do_not_agree_are_no_index(server: Server, store: Store) -> None:
    class Twice(Streamed):
        def corpus(self, domain: str) -> Iterator[Passage]:
            yield from super().corpus(domain)
            yield Passage("p0", "another one with the same id")

    with pytest.raises(
        ConvragError, match=r"holds 20 passages and the corpus 21, so it is not used"
    ):
        retriever(store, Twice(20)).index()
    assert not only(server).aliases


def test_what_is_there_is_not_sent_again(server: Server, store: Store) -> None:
    embedder = Hashed()
    stop = Fault("/_bulk", times=99, status=401)
    bulks: list[int] = []

    def bulk() -> None:
        bulks.append(1)
        if len(bulks) == 5:
            server.inject_faults(stop)

    server.on_bulk = bulk
    dataset = Streamed(300)
    options: dict[str, Any] = {
        "dataset": dataset,
        "store": store,
        "mode": "dense",
        "chunk": 10,
        "threads": 1,
    }
    with pytest.raises(ConvragError):
        ElasticsearchRetriever(embedder=Hashed(), **options).index()
    there = len(only(server).documents)
    server.inject_faults()
    server.bulk_items = 0
    (said,) = ElasticsearchRetriever(embedder=embedder, **options).index()
    assert 0 < there < 300
    assert once_each(only(server), 300)
    assert server.bulk_items == 300 - there
    assert embedder.asked == 300 - there + 1  # and once for the number of dimensions
    assert f"{there:,} of them from an earlier attempt" in said
