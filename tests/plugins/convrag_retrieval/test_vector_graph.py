"""`retriever=dense retriever.vectors=hnsw`: a graph finds candidates, and exact scores rank them."""

import threading
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import ConvragError, Embedder, Hit, Passage, Query
from convrag.config.compose import compose
from convrag.sdk.errors import MissingExtra
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag.turn.wiring import Wiring
from convrag_retrieval import vector_graph
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.hybrid import HybridRetriever
from convrag_retrieval.vector_graph import GraphBuilder, GraphVectors
from toys import Corpora

pytest.importorskip("usearch")


class Seeded(Embedder):
    """A vector for each text, drawn by a seed that is the text; equal texts are equal."""

    fingerprint = series = "seeded"

    def __init__(self, width: int = 16) -> None:
        self.width = width

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        seeds = [int.from_bytes(text.encode()[-4:], "big") for text in texts]
        rows = [np.random.default_rng(seed).standard_normal(self.width) for seed in seeds]
        array = np.array(rows, dtype=np.float32).reshape(len(texts), self.width)
        return array / np.linalg.norm(array, axis=1, keepdims=True)


def number(start: int, end: int) -> list[Passage]:
    return [Passage(f"p{n}", f"text {n}") for n in range(start, end)]


def make(folder: Path, texts: Sequence[Passage], **options: Any) -> DenseRetriever:
    dataset = Corpora(default=texts)
    dataset.series = "documents"
    return DenseRetriever(
        dataset=dataset,
        embedder=options.pop("embedder", None) or Seeded(),
        store=Store(folder),
        **{"vectors": "hnsw", "exact_below": 0, **options},
    )


def show(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.passage.id, hit.score) for hit in hits]


def search(retriever: DenseRetriever, k: int = 10) -> list[list[tuple[str, float]]]:
    return [show(retriever.retrieve([Query(f"query {n}")], k)) for n in range(20)]


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> DenseRetriever:
        return make(self.folder, passages())


@pytest.mark.parametrize("quantize", ["none", "float16", "int8"])
def test_passages_and_scores_are_those_of_exact_search(tmp_path: Path, quantize: str) -> None:
    twice = [*number(0, 300), Passage("same", "text 7")]
    found = search(make(tmp_path, twice, quantize=quantize))
    exact = make(tmp_path, twice, quantize=quantize, vectors="exact")
    assert found == search(exact)
    same = show(make(tmp_path, twice, quantize=quantize).retrieve([Query("text 7")], 2))
    assert [name for name, _ in same] == ["p7", "same"]


def test_a_little_effort_misses_passages(tmp_path: Path) -> None:
    """Else the test before would say nothing of the graph."""
    options = {"m": 2, "ef_construction": 1, "ef_search": 1}
    found = search(make(tmp_path, number(0, 500), **options), k=1)
    assert found != search(make(tmp_path, number(0, 500), vectors="exact"), k=1)


def test_small_corpora_are_searched_exactly(tmp_path: Path) -> None:
    small = make(tmp_path, number(0, 20), exact_below=21)
    assert not isinstance(small._open("default").rows, GraphVectors)
    large = make(tmp_path, number(0, 20), exact_below=20)
    assert isinstance(large._open("default").rows, GraphVectors)


def test_a_graph_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = search(make(tmp_path, number(0, 50)))
    monkeypatch.setattr(GraphBuilder, "_build", None)
    assert search(make(tmp_path, number(0, 50))) == first
    more = make(tmp_path, number(0, 50), ef_search=500)  # concerns the search alone
    assert search(more) == first


def test_a_damaged_graph_is_built_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = make(tmp_path, number(0, 50))
    expected = search(first)
    (file,) = tmp_path.glob("indexes/*/graph.usearch")
    first.store.folders._holds.release()
    file.write_bytes(b"damaged")
    assert search(make(tmp_path, number(0, 50))) == expected
    assert "it is built again" in caplog.text


def count_added(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the vectors that each build adds to its graph."""
    counts: list[int] = []
    add = GraphBuilder._add

    def add_counted(self: GraphBuilder, index: Any, keys: Any, positions: Any, rows: Any) -> None:
        counts.append(len(keys))
        add(self, index, keys, positions, rows)

    monkeypatch.setattr(GraphBuilder, "_add", add_counted)
    return counts


def test_an_interrupted_build_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_graph, "_SAVED", 20)
    counts = count_added(monkeypatch)
    save = GraphBuilder._save_unfinished

    def kill(self: GraphBuilder, index: Any) -> None:
        save(self, index)
        if len(index) == 40:
            raise KeyboardInterrupt

    monkeypatch.setattr(GraphBuilder, "_save_unfinished", kill)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path, number(0, 90)).index()
    assert not list(tmp_path.glob("indexes/*/graph.usearch"))
    monkeypatch.setattr(GraphBuilder, "_save_unfinished", save)
    resumed = search(make(tmp_path, number(0, 90)))
    assert counts == [90, 50]
    assert resumed == search(make(tmp_path, number(0, 90), vectors="exact"))
    assert not list((tmp_path / vector_graph.UNFINISHED).iterdir())


def test_a_damaged_copy_of_an_unfinished_build_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_graph, "_SAVED", 20)
    counts = count_added(monkeypatch)

    def damage(self: GraphBuilder, index: Any) -> None:
        self._unfinished.parent.mkdir()
        self._unfinished.write_bytes(b"damaged")
        raise KeyboardInterrupt

    monkeypatch.setattr(GraphBuilder, "_save_unfinished", damage)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path, number(0, 50)).index()
    monkeypatch.setattr(GraphBuilder, "_save_unfinished", lambda self, index: None)
    make(tmp_path, number(0, 50)).index()
    assert counts == [50, 50]


@pytest.mark.parametrize(
    ("passages_after", "added"),
    [
        ([*number(0, 100), *number(200, 205)], 5),
        ([*number(200, 205), *number(10, 100)], 5),  # all have other positions
        (number(60, 100), 40),  # too many are gone: a fresh one
        (number(0, 100)[::-1], 0),
    ],
)
def test_a_graph_is_continued_when_passages_change(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    passages_after: list[Passage],
    added: int,
) -> None:
    counts = count_added(monkeypatch)
    first = make(tmp_path, number(0, 100))
    first.index()
    first.store.folders._holds.release()
    changed = search(make(tmp_path, passages_after))
    assert counts == [100, added]
    assert changed == search(make(tmp_path, passages_after, vectors="exact"))


def test_many_threads_search_at_once(tmp_path: Path) -> None:
    retriever = make(tmp_path, number(0, 300))
    expected = search(retriever)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(search(retriever))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_hybrid_follows_the_graph(tmp_path: Path) -> None:
    dense = make(tmp_path, number(0, 50))
    lexical = BM25Retriever(dataset=dense.dataset, store=dense.store)
    exact = make(tmp_path, number(0, 50), vectors="exact")
    found, expected = (
        show(HybridRetriever(lexical=lexical, dense=side).retrieve([Query("text 7")], 5))
        for side in (dense, exact)
    )
    assert found == expected
    chosen = compose("retriever=hybrid", "retriever.dense.vectors=hnsw", "embedder=lsa")
    stage = Wiring(chosen).get("retriever")
    assert stage.dense.vectors == "hnsw"


def test_another_model_under_the_same_name_is_said(tmp_path: Path) -> None:
    retriever = make(tmp_path, number(0, 50))
    retriever.index()
    retriever.embedder = Seeded(width=8)
    with pytest.raises(ConvragError, match="vectors of 16 numbers"):
        retriever.retrieve([Query("text 1")], 3)


def test_a_missing_library_is_said_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_no_version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", find_no_version)
    retriever = make(tmp_path, passages())
    (problem,) = retriever.check()
    assert "usearch" in problem
    assert "convrag[hnsw]" in problem
    with pytest.raises(MissingExtra):
        retriever.index()
    assert not list(make(tmp_path, passages(), vectors="exact").check())
