import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag.api.records import Usage
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.store.usage_meter import UsageMeter
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
            time.sleep(0.2)
            return super().score(query, texts)

    ranker, meter = known(Slow(), store), UsageMeter()
    with meter.measure_stage("made"):
        ranker.score("q", ["a", "b"])
    with meter.measure_stage("reused"):
        ranker.score("q", ["a", "b"])
    assert meter.usage["made"].reused_seconds == 0
    assert 0.2 <= meter.usage["reused"].reused_seconds <= meter.timings["made"]


def test_a_call_that_fails_is_not_remembered(store: Store) -> None:
    retriever = known(toys.ListRetriever(), store)
    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            retriever.retrieve([toys.query("BOOM")], 3)
