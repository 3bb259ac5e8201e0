"""Queries for one kind of search: who takes them, how they are shown, written and read again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from convrag import Hit, Query, Retriever, Store
from convrag.sdk.search.queries import choose_queries, list_queries, summarise_queries
from convrag.testing import passages
from convrag.turn.pipeline import PassagesDataset
from convrag_fusion.retriever import FusedRetriever
from convrag_offline.embedders import LsaEmbedder
from convrag_replay.recorded_files import read_rewrites
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.hybrid import HybridRetriever

WORDS = Query("kettle", 0.5, search="lexical", source="blend")
MEANING = Query("tea maker", search="dense")
EITHER = Query("teapot", 2.0)


def test_each_kind_of_search_takes_its_own_queries() -> None:
    assert choose_queries((WORDS, MEANING, EITHER), "lexical") == [WORDS, EITHER]
    assert choose_queries((WORDS, MEANING, EITHER), "dense") == [MEANING, EITHER]


def test_where_none_is_for_it_a_search_takes_all_but_those_of_weight_0() -> None:
    assert choose_queries((WORDS, Query("steam", 0.0)), "dense") == [WORDS]
    assert choose_queries((), "dense") == []


def test_retrievers_search_for_their_own(tmp_path: Path) -> None:
    dataset, store = PassagesDataset(passages()), Store(tmp_path)
    embedder = LsaEmbedder(dataset=dataset, store=store)
    lexical = BM25Retriever(dataset=dataset, store=store)
    dense = DenseRetriever(dataset=dataset, embedder=embedder, store=store)
    ids = [passage.id for passage in passages()]
    both = (Query("kettle", search="lexical"), Query("bread", search="dense"))
    assert lexical.retrieve(both, 3) == lexical.retrieve([Query("kettle")], 3)
    assert dense.retrieve(both, 3) == dense.retrieve([Query("bread")], 3)
    assert lexical.scores(both, ids) == lexical.scores([Query("kettle")], ids)
    assert dense.scores(both, ids) == dense.scores([Query("bread")], ids)


class Side(Retriever):
    """Finds nothing, and keeps what it was asked for."""

    def __init__(self, kind: Literal["lexical", "dense"]) -> None:
        self.kind = kind
        self.asked: list[list[str]] = []

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        self.asked.append([query.text for query in choose_queries(queries, self.kind)])
        return []


@pytest.mark.parametrize("fusion", ["linear", "weighted_rrf", "rrf", "nested_rrf"])
@pytest.mark.parametrize("source", ["", "dual_view"])
def test_hybrid_and_fused_search_for_a_query_on_its_side(source: str, fusion: Any) -> None:
    words, vectors = Side("lexical"), Side("dense")
    hybrid = HybridRetriever(lexical=words, dense=vectors)
    queries = [replace(MEANING, source=source), replace(WORDS, source=source)]
    hybrid.retrieve(queries, 3)
    FusedRetriever(base=hybrid, fusion=fusion).retrieve(queries, 3)
    assert words.asked == [["kettle"]] * 2
    assert vectors.asked == [["tea maker"]] * 2


def test_what_is_searched_for_is_named_in_a_line_and_counted_as_it_is_listed() -> None:
    """A follow-up printed the earlier answers whole, and counted one text for each of its weights."""
    answer = Query("An earlier answer " * 40, 0.1)
    queries = (WORDS, MEANING, Query("tea"), answer, Query("kettle", 0.25, source="mmr"))
    listed = list_queries(queries)
    expected = [
        "kettle (weight 0.5, for words, from blend; weight 0.25, from mmr)",
        "tea maker (for vectors)",
        "tea",
    ]
    assert listed[:3] == expected
    assert len(listed[3]) < 200
    assert summarise_queries(queries) == "kettle and 3 more"
    assert summarise_queries([Query("tea")]) == "tea"


@pytest.mark.parametrize(
    "wrong", ['{"text": "x", "search": "sparse"}', '{"text": "x", "source": 1}']
)
def test_another_kind_of_search_in_a_file_is_an_error(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "rewrites.jsonl"
    file.write_text(f'{{"_id": "1", "text": "x", "queries": [{wrong}]}}\n')
    with pytest.raises(Exception, match="line 1.*(search|source)"):
        read_rewrites(file)
