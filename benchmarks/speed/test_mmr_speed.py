"""Budget of rewriter=mmr: choosing sentences of a long history. Run with -s to see the figures."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toys
from convrag.api.conversations import Question, Turn
from convrag.api.stage import Embedder
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag_clusterers.embeddings import KMeansClusterer
from convrag_mmr.rewriter import MMRRewriter

SENTENCES = 400


class Topics(Embedder):
    """Make unit rows around seven topics, as wide as those of models in use."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.asked = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.asked += len(texts)
        seeds = [np.random.default_rng(sum(text.encode())) for text in texts]
        rows = np.array(
            [
                seed.normal(size=self.width) + 2 * np.eye(self.width)[seed.integers(7)]
                for seed in seeds
            ]
        )
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def history() -> tuple[Turn, ...]:
    """A hundred turns: a question and an answer of three sentences each."""
    return tuple(
        Turn(
            f"c<::>{n}",
            f"What is thing number {n} of them?",
            f"Thing number {n} is small. It was made in {1900 + n} by hand. Its weight is {7 * n} grams.",
        )
        for n in range(1, SENTENCES // 4 + 1)
    )


def milliseconds(stage: MMRRewriter, asked: Question) -> tuple[float, float]:
    """Time the best of thirty runs, by this thread's work and by the clock."""
    work, clock = [], []
    for number in range(30):
        question = Question(
            f"{asked.text} {number}",
            history=asked.history,
            stage_state=asked.stage_state,
            number=101,
        )
        start = time.thread_time(), time.perf_counter()
        stage.rewrite(question)
        work.append(time.thread_time() - start[0])
        clock.append(time.perf_counter() - start[1])
    return 1000 * min(work), 1000 * min(clock)


@pytest.mark.parametrize("width", [256, 384, 768])
def test_selection_from_400_sentences_takes_less_than_10_ms(width: int) -> None:
    """Time the whole rewrite with an LLM that costs nothing."""
    embedder = Topics(width)
    stage = MMRRewriter(llm=toys.EchoLLM(), embedder=embedder, clusterer=KMeansClusterer())
    asked = Question("Which of them is the heaviest?", history=history(), number=101)
    trace = stage.rewrite(asked).trace
    assert (trace["num_extracted_sentences"], trace["num_clusters"]) == (SENTENCES, 7)
    known = embedder.asked
    took, clock = milliseconds(stage, asked)
    assert embedder.asked == known + 30  # the questions, and nothing else
    print(
        f"{SENTENCES} sentences, {width} dimensions: {took:.1f} ms of work, {clock:.1f} by the clock"
    )
    assert took < 10


def test_the_store_costs_little(tmp_path: Path) -> None:
    """As the command wires it, with clusterings remembered: the first time, and again."""
    clusterer = KMeansClusterer()
    clusterer.fingerprint = "kmeans"
    remember(clusterer, Store(tmp_path))
    stage = MMRRewriter(llm=toys.EchoLLM(), embedder=Topics(384), clusterer=clusterer)
    asked = Question("Which of them is the heaviest?", history=history(), number=101)
    stage.rewrite(asked)
    took, clock = milliseconds(stage, asked)
    print(
        f"{SENTENCES} sentences, clustering remembered: {took:.1f} ms of work, {clock:.1f} by the clock"
    )
    assert took < 10
