"""`retriever.filter` on real servers: the same random filters as in this process, equal results."""

from pathlib import Path
from typing import Any

import pytest

from convrag import ConfigError, Passage, Query
from convrag.api.filter_parser import parse_filter
from convrag.store.store import Store
from convrag_elasticsearch.filters import FIELDS
from convrag_elasticsearch.retriever import (
    ClusterRetriever,
    ElasticsearchRetriever,
    OpenSearchRetriever,
)
from convrag_vector_databases.pgvector import PgvectorRetriever
from filter_toys import Letters, check_filters, make_passages
from postgres_server import PostgresServer
from search_engines import SearchEngine
from toys import Corpora

pytestmark = [pytest.mark.cluster, pytest.mark.integration]

CLASSES = {"elasticsearch": ElasticsearchRetriever, "opensearch": OpenSearchRetriever}
PASSAGES = make_passages()


def make(engine: SearchEngine, folder: Path, **options: Any) -> ClusterRetriever:
    return CLASSES[engine.option](
        dataset=Corpora(default=PASSAGES),
        embedder=Letters(),
        store=Store(folder / "store"),
        **options,
    )


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"mode": "bm25"}, id="bm25"),
        pytest.param({"mode": "dense", "vectors": "hnsw"}, id="hnsw"),
        pytest.param({"mode": "dense", "vectors": "flat"}, id="flat"),
    ],
)
def test_engines(any_engine: SearchEngine, tmp_path: Path, options: dict[str, str]) -> None:
    retriever = make(any_engine, tmp_path, **options)
    retriever.index()
    retriever.prepare()
    check_filters(retriever, PASSAGES, count=40, seed=2)


def test_hybrid_and_its_own_filter(any_engine: SearchEngine, tmp_path: Path) -> None:
    retriever = make(any_engine, tmp_path, mode="hybrid", filter="stock >= 1 and not live = true")
    retriever.index()
    retriever.prepare()
    alone = make(any_engine, tmp_path, mode="hybrid")
    expected = alone.retrieve([Query("steam", filter=retriever.filters.own)], 60)
    assert retriever.retrieve([Query("steam")], 60) == expected
    assert expected


def test_an_index_from_before_fields(
    any_engine: SearchEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("convrag_elasticsearch.index_plan.base_mapping_properties", _old_mapping)
        make(any_engine, tmp_path).index()
    retriever = make(any_engine, tmp_path)
    retriever.prepare()
    assert retriever.retrieve([Query("steam")], 3)
    with pytest.raises(ConfigError, match=r"was built before passages had fields.*DELETE /convrag"):
        retriever.check_filter(parse_filter("product=kettle"))


def _old_mapping() -> dict[str, Any]:
    from convrag_elasticsearch.documents import base_mapping_properties

    properties = base_mapping_properties()
    del properties[FIELDS]
    return properties


@pytest.mark.parametrize("vectors", ["exact", "hnsw"])
def test_pgvector(
    vector_postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vectors: Any,
) -> None:
    monkeypatch.setenv("PGVECTOR_URL", vector_postgres.make_database())
    retriever = PgvectorRetriever(
        dataset=Corpora(default=PASSAGES),
        embedder=Letters(),
        store=Store(tmp_path),
        vectors=vectors,
        ef_search=100,
    )
    retriever.prepare()
    check_filters(retriever, PASSAGES, count=40, seed=2)


def test_pgvector_finds_the_rare_among_many(
    vector_postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGVECTOR_URL", vector_postgres.make_database())
    passages = [Passage(f"p{number}", "steam " * (1 + number % 7)) for number in range(400)]
    rare = Passage("rare", "whistle", metadata={"fields": {"product": "kettle"}})
    retriever = PgvectorRetriever(
        dataset=Corpora(default=[*passages, rare]),
        embedder=Letters(),
        store=Store(tmp_path),
        vectors="hnsw",
        filter="product=kettle",
    )
    retriever.prepare()
    assert [hit.passage.id for hit in retriever.retrieve([Query("steam")], 3)] == ["rare"]
