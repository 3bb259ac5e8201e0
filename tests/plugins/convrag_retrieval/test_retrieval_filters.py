"""`retriever.filter` and `Query.filter` of the retrievers in this process: all obey the same."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import ConfigError, Dataset, Passage, Pipeline, Query, Retriever
from convrag.api.filter_parser import parse_filter
from convrag.store.fingerprint import digest
from convrag.store.store import Store
from convrag_fusion.retriever import FusedRetriever
from convrag_neural.sparse import SparseRetriever
from convrag_neural.sparse_encoding import Tokens
from convrag_replay.retriever import RunRetriever
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.hybrid import HybridRetriever
from convrag_retrieval.sparse_files import SparseFilesRetriever
from filter_toys import Letters, check_filters, find_matching, make_passages
from toys import Corpora

PASSAGES = make_passages()
KETTLE = parse_filter("product = kettle")


class CountedWords(SparseRetriever):
    """Learned sparse search whose model counts the words of a text."""

    def prepare(self) -> None:
        self.index()
        self.filters.prepare()

    def content_hash(self) -> str:
        return "counted"

    def encode_tokens(self, texts: Sequence[str], batch_size: int, *, is_query: bool) -> Tokens:
        triples = []
        for row, text in enumerate(texts):
            words = text.split()
            for word in dict.fromkeys(words):
                triples.append((row, len(word), words.count(word)))  # noqa: PERF401
        rows, numbers, weights = np.array(triples).T
        return Tokens(rows, numbers, weights.astype(np.float32))


def make_sparse_files(parts: dict[str, Any], folder: Path) -> Retriever:
    folder.mkdir(exist_ok=True)
    vectors = folder / "passages.jsonl"
    queries = folder / "queries.jsonl"
    lines = [
        json.dumps({"id": each.id, "vector": {"steam": float(each.text.count("steam"))}})
        for each in PASSAGES
    ]
    vectors.write_text("\n".join(lines))
    queries.write_text(json.dumps({"text": "steam", "vector": {"steam": 1.0}}))
    return SparseFilesRetriever(**parts, passage_vectors=vectors, query_vectors=queries)


def make(name: str, folder: Path, dataset: Dataset | None = None, **options: Any) -> Retriever:
    parts: dict[str, Any] = {
        "dataset": dataset or Corpora(default=PASSAGES),
        "store": Store(folder / "store"),
    }
    dense = {**parts, "embedder": Letters()}
    if name == "bm25":
        return BM25Retriever(**parts, **options)
    if name == "dense":
        return DenseRetriever(**dense, **options)
    if name == "sparse":
        return CountedWords(**parts, **options)
    if name == "sparse_files":
        return make_sparse_files(parts, folder)
    hybrid = HybridRetriever(
        lexical=BM25Retriever(**parts), dense=DenseRetriever(**dense), **options
    )
    return hybrid if name == "hybrid" else FusedRetriever(base=hybrid, **options)


@pytest.mark.parametrize("name", ["bm25", "dense", "sparse", "sparse_files"])
def test_random_filters_find_the_same_in_the_same_order(name: str, tmp_path: Path) -> None:
    check_filters(make(name, tmp_path), PASSAGES, count=40, seed=1)


@pytest.mark.parametrize("name", ["hybrid", "fused"])
def test_retrievers_that_ask_others_pass_filters_on(name: str, tmp_path: Path) -> None:
    retriever = make(name, tmp_path)
    for text in ("product=kettle", "stock>=7 and not live=true", '"Sold On">2023'):
        hits = retriever.retrieve([Query("steam", filter=parse_filter(text))], 100)
        assert {hit.passage.id for hit in hits} == set(find_matching(PASSAGES, text))


@pytest.mark.parametrize("name", ["bm25", "dense", "sparse", "hybrid", "fused"])
def test_its_own_filter_is_joined_with_that_of_a_query(name: str, tmp_path: Path) -> None:
    retriever = make(name, tmp_path, filter="stock >= 1")
    retriever.prepare()
    found = {hit.passage.id for hit in retriever.retrieve([Query("steam")], 100)}
    assert found == set(find_matching(PASSAGES, "stock >= 1"))
    query = Query("steam", filter=KETTLE)
    found = {hit.passage.id for hit in retriever.retrieve([query], 100)}
    assert found == set(find_matching(PASSAGES, "stock >= 1 and product = kettle"))
    assert retriever.explain([query])["filter"] == "stock >= 1 and product = kettle"


@pytest.mark.parametrize("name", ["bm25", "dense", "sparse", "hybrid", "fused"])
def test_an_unknown_field_is_an_error_before_the_first_turn(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the field 'prodct' does not exist\. Did you mean"):
        make(name, tmp_path, filter="prodct=kettle").prepare()
    with pytest.raises(ConfigError, match=r"retriever\.filter: .* at character 9"):
        make(name, tmp_path, filter="product=")


def test_filters_of_several_queries_all_hold(tmp_path: Path) -> None:
    queries = [Query("steam", filter=KETTLE), Query("tea", filter=parse_filter("stock>0"))]
    found = {hit.passage.id for hit in make("bm25", tmp_path).retrieve(queries, 100)}
    assert found == set(find_matching(PASSAGES, "product=kettle and stock>0"))


def test_the_best_of_what_matches_are_found_not_what_matches_of_the_best(tmp_path: Path) -> None:
    last = [hit.passage.id for hit in make("bm25", tmp_path).retrieve([Query("steam")], 60)][-1]
    passages = [
        Passage(
            each.id, each.text, metadata={"fields": {"rank": "last"}} if each.id == last else {}
        )
        for each in PASSAGES
    ]
    for name in ("bm25", "dense"):
        retriever = make(name, tmp_path / name, Corpora(default=passages), filter="rank=last")
        assert [hit.passage.id for hit in retriever.retrieve([Query("steam")], 1)] == [last]


def test_a_filter_that_nothing_matches_finds_nothing(tmp_path: Path) -> None:
    nothing = Query("steam", filter=parse_filter("stock > 1 and stock < 1.5"))
    for name in ("bm25", "dense", "hybrid", "fused", "sparse", "sparse_files"):
        assert make(name, tmp_path / name).retrieve([nothing], 5) == []


def test_a_corpus_without_fields_says_so(tmp_path: Path) -> None:
    plain = Corpora(default=[Passage("p", "steam")])
    with pytest.raises(ConfigError, match="The passages of this corpus have no fields"):
        make("bm25", tmp_path, plain, filter="year=2023").prepare()


def test_fields_are_not_read_without_a_filter(tmp_path: Path) -> None:
    retriever = make("bm25", tmp_path)
    retriever.prepare()
    retriever.retrieve([Query("steam")], 3)
    assert not (tmp_path / "store" / "fields").exists()
    retriever.retrieve([Query("steam", filter=KETTLE)], 3)
    assert (tmp_path / "store" / "fields").is_dir()


def test_queries_without_a_filter_keep_their_key_in_the_store() -> None:
    # the key that 0.2.0 gave, before queries had filters
    assert digest([Query("steam")]) == "f64ac4c11909959d029af1bf46ae8011a0f40054"
    assert digest([Query("steam", filter=KETTLE)]) != digest([Query("steam")])


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    store = tmp_path_factory.mktemp("store")
    return Pipeline.over(
        PASSAGES, "llm=extractive", "retriever=bm25", "rewriter=none", f"store.path={store}"
    )


class TestTurns:
    """Filters of a request, in a whole turn."""

    def ask(self, chat: Pipeline, filter: str | None) -> list[str]:
        record = chat.turn(f"c {filter}", "steam?", filter=filter, top_k=60, generate=False)
        assert not record.error
        return [hit.passage.id for hit in record.hits]

    def test_the_passages_of_a_turn_match(self, chat: Pipeline) -> None:
        found = self.ask(chat, "product=kettle and stock>=1")
        assert set(found) == set(find_matching(PASSAGES, "product=kettle and stock>=1"))
        assert len(self.ask(chat, None)) == len(self.ask(chat, " ")) == 60

    def test_the_record_shows_it_and_is_read_again(self, chat: Pipeline) -> None:
        record = chat.turn("r", "steam?", filter="product=kettle", generate=False)
        row = json.loads(json.dumps(record.to_dict()))
        assert row["queries"][0]["filter"] == "product = kettle"
        assert row["trace"]["retriever"]["filter"] == "product = kettle"
        assert type(record).from_dict(row).queries == record.queries
        row["queries"][0]["filter"] = "product ="
        with pytest.raises(ValueError, match=r"queries\.filter: .* at character 10"):
            type(record).from_dict(row)

    def test_the_answer_again_has_the_filter_that_is_given(self, chat: Pipeline) -> None:
        chat.turn("again", "steam?", filter="product=kettle", generate=False)
        record = chat.regenerate("again", filter="product=pot", top_k=60)
        found = {hit.passage.id for hit in record.hits}
        assert found == set(find_matching(PASSAGES, "product=pot"))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("product=", "at character 9"),
            ("prodct=kettle", "the field 'prodct' does not exist"),
            ("product>3", "has texts, and > compares numbers and dates"),
        ],
    )
    def test_a_bad_filter_is_an_error_and_no_turn(
        self, chat: Pipeline, text: str, message: str
    ) -> None:
        with pytest.raises(ConfigError, match=message):
            chat.turn("bad", "steam?", filter=text)
        assert chat.conversations.get("bad") is None or not chat.conversations.get("bad").history  # type: ignore[union-attr]


class Unfiltered(Retriever):
    """A retriever of somebody who knows no filters."""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Any]:
        raise AssertionError("it must not be asked")


def test_a_retriever_that_cannot_filter_refuses() -> None:
    with pytest.raises(ConfigError, match="Unfiltered cannot filter passages"):
        Unfiltered().check_filter(KETTLE, "default")
    assert RunRetriever.check_filter is Retriever.check_filter
