from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag.api.records import Usage
from convrag.api.stage import remembered
from convrag.api.types import Hit, Passage
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.store.usage import UsageMeter
from convrag.store.values import ArrayCodec
from convrag.testing import make_prompt


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def known(stage: Any, store: Store, fingerprint: str = "f") -> Any:
    stage.fingerprint = fingerprint
    remember(stage, store)
    return stage


def test_a_reply_is_asked_for_once(store: Store) -> None:
    llm = known(toys.EchoLLM(), store)
    first = llm.complete(make_prompt("one?"))
    again = known(toys.EchoLLM(), store)
    assert again.complete(make_prompt("one?")) == first
    assert (llm.asked, again.asked) == (1, 0)


def test_another_attempt_fingerprint_or_sampling_is_another_call(store: Store) -> None:
    llm = known(toys.EchoLLM(), store)
    for prompt in (
        make_prompt(),
        replace(make_prompt(), attempt=1),
        replace(make_prompt(), sampling={"temperature": 1}),
        make_prompt("other"),
    ):
        llm.complete(prompt)
    assert llm.asked == 4
    other = known(toys.EchoLLM(), store, "g")
    other.complete(make_prompt())
    assert other.asked == 1


def test_embeddings_are_remembered_text_by_text(store: Store) -> None:
    embedder = known(toys.LetterEmbedder(), store)
    first = embedder.embed(["abc", "dad", "abc"])
    second = embedder.embed(["dad", "gag"])
    assert embedder.seen == ["abc", "dad", "gag"]
    assert first.dtype == np.float32
    assert first.shape == (3, 8)
    assert np.array_equal(first[1], second[0])
    assert embedder.embed([]).shape == (0, 8)
    embedder.embed(["abc"], query=True)
    assert embedder.seen[-1] == "abc", "a query is not a passage"


class Shapes(toys.ReverseRanker):
    """Gives a number, a matrix, and a mark for each text."""

    @remembered(each="texts", array="float64")
    def lengths(self, texts: list[str]) -> Any:
        return np.array([len(text) for text in texts], dtype=np.float64)

    @remembered(each="texts", array="int64")
    def tables(self, texts: list[str]) -> Any:
        return np.array([[[len(text), 1, 2], [3, 4, 5]] for text in texts])

    @remembered(array="bool")
    def blank(self, texts: list[str]) -> Any:
        return np.array([not text for text in texts])

    @remembered(array="float32")
    def distances(self, texts: list[str]) -> Any:
        return np.array([[len(a) - len(b) for a in texts] for b in texts], dtype=np.float32)


def test_arrays_come_back_in_their_shape(store: Store) -> None:
    """Also where items have one number each, or many; also where all were known."""
    texts = ["a", "bcd", "a", ""]
    fresh = Shapes()
    for stage in (known(Shapes(), store), known(Shapes(), store)):
        for some in (texts[:2], texts, texts[3:]):
            for method in ("lengths", "tables", "blank", "distances"):
                expected, found = getattr(fresh, method)(some), getattr(stage, method)(some)
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "int8", "bool", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (0, 3), (2, 3), (1, 1, 4)])
def test_an_array_is_coded_and_decoded(dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype)
    decoded = ArrayCodec(dtype).decode(ArrayCodec(dtype).encode(array))
    assert (decoded.shape, decoded.dtype) == (shape, dtype)
    assert np.array_equal(decoded, array)


def test_rankings_and_scores_come_back_whole(store: Store) -> None:
    passage = Passage("p", "ein Text — 茶", "T", "http://x", {"authors": ["A"]})

    class One(toys.ListRetriever):
        def retrieve(self, queries: Any, k: int) -> list[Hit]:
            return [Hit(passage, 1.5)]

    retriever = known(One(), store)
    assert retriever.retrieve([toys.query("q")], 5) == [Hit(passage, 1.5)]
    assert retriever.retrieve([toys.query("q")], 5) == [Hit(passage, 1.5)]
    ranker = known(toys.ReverseRanker(), store)
    for _ in range(2):
        assert ranker.score("q", ["a", "b"]).tolist() == [0.0, 1.0]
        assert ranker.score("q", []).tolist() == []
    labels = known(toys.PairClusterer(), store).cluster(["a", "b", "c"], known(toys.LetterEmbedder(), store))
    assert labels.tolist() == [0, 0, 1]


def test_an_llm_that_works_by_rules_uses_no_tokens(store: Store) -> None:
    class Rules(toys.EchoLLM):
        tasks = frozenset({"answer"})

    meter, llm = UsageMeter(), known(Rules(), store)
    with meter.measure_stage("generator"):
        replies = [llm.complete(make_prompt()) for _ in range(2)]
    assert [reply.prompt_tokens for reply in replies] == [3, 3]  # who asks gets what the rules say
    assert meter.usage["generator"] == Usage(1, 1, cost_usd=1.0, spent_usd=0.5)
    assert [reply.prompt_tokens for _, reply in meter.replies] == [0, 0]


def test_usage_tells_made_from_reused(store: Store) -> None:
    llm, embedder = known(toys.EchoLLM(), store), known(toys.LetterEmbedder(), store)
    meter = UsageMeter()
    with meter.measure_stage("rewriter"):
        llm.complete(make_prompt())
        llm.complete(make_prompt())
    with meter.measure_stage("generator"):
        embedder.embed(["a", "b", "a"])
        embedder.embed(["a", "c"])
    assert meter.usage["rewriter"] == Usage(1, 1, 6, 4, cost_usd=1.0, spent_usd=0.5)
    usage = meter.usage["generator"]
    assert usage == Usage(calls=3, reused=1, reused_seconds=usage.reused_seconds)
    assert set(meter.timings) == {"rewriter", "generator"}


def test_a_reused_call_says_what_it_once_took(store: Store) -> None:
    class Slow(toys.ReverseRanker):
        def score(self, query: str, texts: Any) -> Any:
            time.sleep(0.02)
            return super().score(query, texts)

    ranker, meter = known(Slow(), store), UsageMeter()
    with meter.measure_stage("made"):
        ranker.score("q", ["a", "b"])
    with meter.measure_stage("reused"):
        ranker.score("q", ["a", "b"])
    assert meter.usage["made"].reused_seconds == 0
    assert 0.02 <= meter.usage["reused"].reused_seconds <= meter.timings["made"]
    assert meter.timings["reused"] < 0.02


def test_a_call_that_fails_is_not_remembered(store: Store) -> None:
    retriever = known(toys.ListRetriever(), store)
    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            retriever.retrieve([toys.query("BOOM")], 3)
