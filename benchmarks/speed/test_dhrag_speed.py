"""The budget of a turn of rewriter=dhrag in a conversation of 500 (-s prints it)."""

import random
import statistics
import time
from typing import Any

import numpy as np

from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Question, Turn
from convrag.api.passages import Passage
from convrag.api.stage import LLM, Embedder
from convrag_dhrag.rewriter import DHRagRewriter

TURNS = 500
WORDS = [f"word{n}" for n in range(5000)]


class Quiet(LLM):
    def complete(self, prompt: Prompt) -> Completion:
        return Completion("what is it?")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Free(Embedder):
    """Random directions, known beforehand, so that only the rewriter's own time counts."""

    def __init__(self) -> None:
        self.rows = np.random.default_rng(0).normal(size=(2 * TURNS, 384)).astype(np.float32)
        self.rows /= np.linalg.norm(self.rows, axis=1, keepdims=True)
        self.given = 0

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        self.given += len(texts)
        return self.rows[self.given - len(texts) : self.given]


def conversation() -> list[Turn]:
    """Make ten topics that come and go, with answers of 100 words and passages of 300."""
    chance = random.Random(0)
    topics = [chance.sample(WORDS, 300) for _ in range(10)]
    frequent = [1 / rank for rank in range(1, 301)]

    def say(topic: list[str], length: int) -> str:
        about = chance.choices(topic, frequent, k=length // 4) + chance.choices(
            WORDS, k=length // 4
        )
        return " ".join(f"the {word}" for word in chance.sample(about, len(about)))

    turns = []
    for n in range(TURNS):
        topic = topics[n // 7 % 10]
        passage = Passage(f"p{n}", say(topic, 300), title=say(topic, 8))
        turns.append(Turn(f"c<::>{n}", say(topic, 12), say(topic, 100), (passage,)))
    return turns


def test_500_turns_stay_under_50_ms_a_turn_and_embed_each_text_once() -> None:
    turns, embedder, memory = conversation(), Free(), {}
    rewriter = DHRagRewriter(llm=Quiet(), embedder=embedder)
    rewriter.rewrite(Question("warm up", history=tuple(turns[:6])))
    embedder.given = 0
    took = []  # seconds of this thread alone: what else the machine does is not counted
    for n, turn in enumerate(turns):
        history = tuple(turns[:n])
        start = time.thread_time()
        rewrite = rewriter.rewrite(
            Question(turn.question, history=history, number=n + 1, stage_state=memory)
        )
        took.append(time.thread_time() - start)
        assert not rewrite.fallback
    assert embedder.given == 2 * (
        TURNS - 1
    )  # each question but the first, and each exchange but the last
    late = took[-50:]
    print(
        f"turns 450 to 500: {1000 * statistics.median(late):.1f} ms, at most {1000 * max(late):.1f} ms"
    )
    print(f"all: {1000 * statistics.mean(took):.1f} ms on average")
    assert statistics.median(late) < 0.05
