from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from convrag.api.passages import Hit, Passage
from convrag.api.queries import Query
from convrag.api.stages import Retriever
from convrag.config.compose import compose
from convrag.sdk.search.fusion import ScoresPassages
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from convrag.turn.pipeline import Pipeline
from convrag.turn.wiring import Wiring
from convrag_retrieval.bm25 import BM25Retriever
from convrag_retrieval.dense import DenseRetriever
from convrag_retrieval.hybrid import HybridRetriever
from toys import Corpora


class Listed(Retriever):
    """Finds these passages with these scores, whatever the query; remembers how it was asked."""

    def __init__(self, **scores: float) -> None:
        self.found = [Hit(Passage(id_, f"text of {id_}"), score) for id_, score in scores.items()]
        self.asked: list[tuple[Sequence[Query], int]] = []

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        self.asked.append((queries, k))
        return self.found[:k]


class Knowing(Listed):
    """Scores passages that it did not find, too."""

    def __init__(self, others: dict[str, float], **scores: float) -> None:
        super().__init__(**scores)
        self.others = others

    def scores(self, queries: Sequence[Query], ids: Sequence[str]) -> dict[str, float]:
        return {id_: self.others[id_] for id_ in ids if id_ in self.others}


QUERIES = [Query("one", 1.0), Query("two", 0.5)]


def fused(lexical: Retriever, dense: Retriever, k: int = 10, **parameters: Any) -> dict[str, float]:
    hits = HybridRetriever(lexical=lexical, dense=dense, **parameters).retrieve(QUERIES, k)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.passage.text == f"text of {hit.passage.id}" for hit in hits)
    return {hit.passage.id: hit.score for hit in hits}


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.store = Store(tmp_path)

    def make(self) -> HybridRetriever:
        from convrag_offline.embedders import LsaEmbedder

        dataset = Corpora(default=passages())
        embedder = LsaEmbedder(dataset=dataset, store=self.store)
        embedder.fingerprint = "lsa of tea"
        return HybridRetriever(
            lexical=BM25Retriever(dataset=dataset, store=self.store),
            dense=DenseRetriever(dataset=dataset, embedder=embedder, store=self.store),
        )


# Linear
# -----------------------------------------------------------------------------------------------------------


def test_a_fusion_by_hand() -> None:
    """Lists that are cut off at depth 3: what is missing may have their lowest score at most."""
    found = fused(
        Listed(a=9.0, b=6.0, c=3.0), Listed(b=0.9, d=0.7, a=0.5), weight=0.25, depth=3, k=3
    )
    # lexical: a 1, b .5, c 0, d 0 (missing); dense: b 1, d .5, a 0, c 0 (missing)
    assert found == pytest.approx({"b": 0.25 * 0.5 + 0.75, "d": 0.75 * 0.5, "a": 0.25})
    assert list(found) == ["b", "d", "a"]


def test_adaptive_weights_by_hand() -> None:
    """Means of the scaled scores: 1/4 by words (a stands out), 3/8 by meaning."""
    lists = (Listed(a=9.0, b=3.0, c=3.0), Listed(b=0.9, d=0.7, a=0.5))
    found = fused(*lists, fusion="adaptive", weight=0.25, depth=3, k=3)
    assert found == pytest.approx({"b": 0.75 * 5 / 8, "d": 0.75 * 5 / 16, "a": 0.25 * 3 / 4})
    assert fused(Listed(), Listed(), fusion="adaptive") == {}


def test_a_short_list_says_that_the_rest_is_no_match() -> None:
    found = fused(Listed(a=9.0, b=6.0), Listed(b=0.9, d=0.7, a=0.5), weight=0.25, depth=3, k=3)
    # lexical: a 1, b 2/3, d 0, because 6 is not the least that a passage can have
    assert found == pytest.approx({"b": 0.25 * 2 / 3 + 0.75, "d": 0.75 * 0.5, "a": 0.25})
    alone = fused(Listed(a=2.0), Listed(b=0.9, a=0.8), weight=0.6)
    # the only lexical hit has all of that credit; dense: b 1, a 0, since both are scored
    assert alone == pytest.approx({"a": 0.6, "b": 0.4})


def test_what_one_did_not_find_it_scores_all_the_same() -> None:
    lexical = Knowing({"d": 1.0}, a=9.0, b=5.0)
    dense = Knowing({}, b=0.9, d=0.7, a=0.5)
    # lexical: a 1, b .5, d 0 by its own score of 1; dense: b 1, d .5, a 0
    assert fused(lexical, dense, weight=0.5) == pytest.approx({"b": 0.75, "a": 0.5, "d": 0.25})


def test_weights_at_their_ends_are_one_retriever() -> None:
    lexical, dense = (
        Knowing({"d": 0.5}, a=3.0, b=2.0, c=1.0),
        Knowing({"c": -0.5}, d=0.9, b=0.4, a=0.1),
    )
    assert list(fused(lexical, dense, weight=0.0)) == ["d", "b", "a", "c"]
    assert list(fused(lexical, dense, weight=1.0)) == ["a", "b", "c", "d"]


def test_one_that_finds_nothing_changes_nothing() -> None:
    assert list(fused(Listed(), Listed(z=0.9, b=0.7, a=0.5))) == ["z", "b", "a"]
    assert list(fused(Listed(z=9.0, a=1.0), Listed())) == ["z", "a"]
    assert fused(Listed(), Listed()) == {}


# By ranks
# ---------------------------------------------------------------------------------------------------------


def test_equal_scores_are_in_the_order_of_their_ids() -> None:
    assert list(fused(Listed(b=1.0, c=0.5), Listed(a=1.0, d=0.5), fusion="rrf")) == [
        "a",
        "b",
        "c",
        "d",
    ]


# What it asks of the two
# ------------------------------------------------------------------------------------------


def test_both_get_the_weighted_queries_as_they_are() -> None:
    lexical, dense = Listed(a=1.0), Listed(b=1.0)
    fused(lexical, dense, k=5, depth=40)
    assert lexical.asked == dense.asked == [(QUERIES, 40)]
    fused(lexical, dense, k=50, depth=40)
    assert lexical.asked[-1] == (QUERIES, 50)


def test_ours_score_passages_that_they_did_not_find(tmp_path: Path) -> None:
    retriever = BM25Retriever(dataset=Corpora(default=passages()), store=Store(tmp_path))
    assert isinstance(retriever, ScoresPassages)
    queries = [Query("copper kettle", 2.0), Query("tea")]
    found = {hit.passage.id: hit.score for hit in retriever.retrieve(queries, 4)}
    ids = ["tea-4", "no-such-passage", "tea-3", "tea-1", "tea-2"]
    assert retriever.scores(queries, ids) == {
        id_: found.get(id_, 0.0) for id_ in ids if id_ != "no-such-passage"
    }
    assert retriever.scores([Query("copper", 0.0)], ["tea-1"]) == {"tea-1": 0.0}


# On the command line
# ----------------------------------------------------------------------------------------------


def test_its_retrievers_are_chosen_by_place(here: Path) -> None:
    wiring = Wiring(
        compose("retriever=hybrid", "retriever.dense.batch_size=7", "retriever.lexical.k1=0.9")
    )
    retriever = wiring.get("retriever")
    assert isinstance(retriever.lexical, BM25Retriever)
    assert isinstance(retriever.dense, DenseRetriever)
    assert (retriever.dense.batch_size, retriever.lexical.settings.k1) == (7, 0.9)
    assert retriever.dense.embedder is wiring.get("embedder")
    other = Wiring(
        compose("retriever=hybrid", "retriever@retriever.dense=bm25", "retriever.dense.b=0.3")
    )
    assert other.get("retriever").dense.settings.b == 0.3
    own = compose(
        "retriever=hybrid",
        "+embedder@retriever.dense.embedder=lsa",
        "retriever.dense.embedder.dimensions=5",
    )
    assert Wiring(own).get("retriever").dense.embedder.dimensions == 5


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_a_turn_on_the_sample(here: Path, retriever: str) -> None:
    (first, *_) = Wiring(compose()).get("dataset").conversations()
    record = Pipeline.compose(f"retriever={retriever}", "top_k=4").turn(
        "c", first.turns[0].question
    )
    assert not record.error
    assert len(record.hits) == 4
