"""A number of a plugin's that is NaN is an error that names the plugin, wherever it would be sorted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag import Hit, Query, Ranker, Rewrite, Rewriter
from convrag.api.errors import StageFault
from convrag.registry.option import Option
from convrag.store.store import Store
from convrag.turn.stage_guard import guard_stage
from convrag.turn.stage_pool import StagePool
from toys import pipeline

NAN = float("nan")


class NanRanker(Ranker):
    """Scores all texts but the first."""

    def score(self, query: str, texts: Any) -> Any:
        return np.array([NAN, *range(1, len(texts))], dtype=float)


class NanRetriever(toys.ListRetriever):
    """Finds a passage whose score is NaN."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return [Hit(hit.passage, NAN) for hit in super().retrieve(queries, k)]


class NanEmbedder(toys.LetterEmbedder):
    """Has no vector for a text without letters."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        return np.full((len(texts), 3), NAN, dtype=np.float32)


class NanRewriter(Rewriter):
    """Weighs its query by NaN."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite((Query("tea", weight=NAN),))


def test_a_rankers_nan_leaves_the_order_and_is_told() -> None:
    record = pipeline(reranker=NanRanker()).turn("c", "what?")
    assert [hit.passage.id for hit in record.hits] == ["p0", "p1", "p2"]
    assert "score returned NaN" in record.fallbacks["reranker"]
    assert "NanRanker" in record.fallbacks["reranker"]
    assert f"{Path(__file__)}, line" in record.fallbacks["reranker"]


def test_a_retrievers_nan_fails_the_turn() -> None:
    record = pipeline(retriever=NanRetriever()).turn("c", "what?")
    assert record.error.startswith("retriever: retrieve returned NaN")


def test_the_weight_of_a_query_is_a_number() -> None:
    record = pipeline(rewriter=NanRewriter()).turn("c", "what?")
    assert [query.text for query in record.queries] == ["what?"]
    assert "rewrite returned NaN" in record.fallbacks["rewriter"]


@pytest.mark.parametrize(
    ("group", "cls", "call"),
    [
        ("ranker", NanRanker, lambda stage: stage.score("tea", ["a", "b"])),
        ("retriever", NanRetriever, lambda stage: stage.retrieve([Query("tea")], 2)),
        ("embedder", NanEmbedder, lambda stage: stage.embed(["a"])),
    ],
)
def test_a_stage_that_another_one_asks_is_checked_too(
    group: str, cls: Any, call: Any, tmp_path: Path
) -> None:
    """A cluster is ranked, and vectors are compared, by stages: the pipeline does not see it."""
    option = Option(group, "mine", cls, "acme", "acme-dist")
    stage = StagePool().get(option, {}, {}, Store(tmp_path), group)
    for _ in range(2):  # nothing of it is in the store
        with pytest.raises(
            StageFault,
            match=rf"returned NaN.*{group}=mine, plugin 'acme' of acme-dist: .*, line \d+",
        ):
            call(stage)


def test_what_is_no_array_of_numbers_is_left_to_the_store() -> None:
    """The store says what it cannot keep, and why."""

    class Odd(toys.LetterEmbedder):
        result: Any = None

        def embed(self, texts: Any, *, query: bool = False) -> Any:
            return self.result

    odd = Odd()
    guard_stage(odd)
    for odd.result in (None, "text", [[1], [2, 3]], [None], np.array(["a"]), np.array([1])):
        assert odd.embed(["q"]) is odd.result
    odd.result = [1.0, NAN]
    with pytest.raises(StageFault, match="embed returned NaN"):
        odd.embed(["q"])
