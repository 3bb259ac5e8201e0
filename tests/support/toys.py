"""Small stages and plugins for tests of the kernel: each does one thing that can be seen."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from types import ModuleType
from typing import Any

import numpy as np

from convrag import (
    Answer,
    Completion,
    Conversation,
    Evidence,
    EvidenceItem,
    Hit,
    Passage,
    Prompt,
    Query,
    Rewrite,
    Turn,
)
from convrag.api.hookspecs import hookimpl
from convrag.api.stage import LLM, Embedder
from convrag.api.stages import Clusterer, Context, Dataset, Generator, Ranker, Retriever, Rewriter
from convrag.config.settings import Settings
from convrag.registry import plugins
from convrag.turn.pipeline import Pipeline


class EchoLLM(LLM):
    """Says its prompt back, and counts how often it was asked."""

    def __init__(self, *, mark: str = "") -> None:
        self.mark = mark
        self.asked = 0
        self._lock = threading.Lock()

    def complete(self, prompt: Any) -> Completion:
        with self._lock:
            self.asked += 1
        return Completion(
            f"{self.mark}{prompt.messages[-1].content}", 3, 2, cost_usd=0.5, model="echo"
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Says(LLM):
    """Gives its replies in order, the last one for ever, and keeps the prompts.

    A reply may be made from its prompt; an error is raised.
    """

    def __init__(self, *replies: str | BaseException | Callable[[Prompt], str]) -> None:
        self.replies = replies
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        reply = self.replies[min(len(self.prompts), len(self.replies) - 1)]
        self.prompts.append(prompt)
        if isinstance(reply, BaseException):
            raise reply
        return Completion(reply if isinstance(reply, str) else reply(prompt), model="says")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class LetterEmbedder(Embedder):
    """Counts letters, and remembers which texts it was given."""

    def __init__(self, *, scale: float = 1.0) -> None:
        self.scale = scale
        self.seen: list[str] = []

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        self.seen.extend(texts)
        rows = np.array(
            [[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float32
        )
        rows = rows.reshape(len(texts), 8)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class ShoutingRewriter(Rewriter):
    """Upper-cases the question and adds the last answer."""

    def __init__(self, *, llm: LLM, suffix: str = "", fail_on: str = "") -> None:
        self.llm = llm
        self.suffix = suffix
        self.fail_on = fail_on

    def rewrite(self, question: Any) -> Rewrite:
        if self.fail_on and self.fail_on in question.text:
            raise RuntimeError("this rewriter cannot")
        seen = question.state(self)
        seen["turns"] = seen.get("turns", 0) + 1
        last = question.history[-1].answer if question.history else ""
        return Rewrite.of(
            f"{question.text.upper()} {last}{self.suffix}".strip(), seen=seen["turns"], last=last
        )


class ListRetriever(Retriever):
    """Finds the same three passages in the same order; fails for a query with BOOM in it."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        if "BOOM" in queries[0].text:
            raise OSError("the index is gone")
        return [Hit(Passage(f"p{n}", f"text {n}"), 3.0 - n) for n in range(3)][:k]


class ReverseRanker(Ranker):
    """Turns the order round."""

    def score(self, query: str, texts: Any) -> Any:
        return np.arange(len(texts), dtype=np.float64)


class EvenRanker(Ranker):
    """Has no opinion."""

    def score(self, query: str, texts: Any) -> Any:
        return np.zeros(len(texts))


class PlainContext(Context):
    """Shows everything."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return Evidence(
            tuple(EvidenceItem(n, hit.passage, hit.passage.text) for n, hit in enumerate(hits, 1))
        )


class QuotingGenerator(Generator):
    """Answers with the ids of its evidence, and how many turns it saw."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        ids = [item.passage.id for item in evidence.items]
        return Answer(f"{len(question.history)} {' '.join(ids)}", tuple(ids[:1]))


class PairClusterer(Clusterer):
    """Two texts to a cluster."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        return np.arange(len(texts)) // 2


class Corpora(Dataset):
    """Passages by domain, and no conversations."""

    def __init__(self, **domains: Sequence[Passage]) -> None:
        self.passages = domains

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def domains(self) -> Sequence[str]:
        return tuple(self.passages)

    def corpus(self, domain: str) -> Iterator[Passage]:
        return iter(self.passages[domain])


class ToyDataset(Dataset):
    """Conversations and a corpus given as they are."""

    def __init__(self, *conversations: Conversation) -> None:
        self.scripts = conversations

    def conversations(self) -> Iterator[Conversation]:
        return iter(self.scripts)

    def corpus(self, domain: str) -> Iterator[Passage]:
        return iter([Passage(f"p{n}", f"text {n}") for n in range(3)])


def pipeline(**stages: Any) -> Pipeline:
    settings = stages.pop("settings", Settings(top_n=2))
    conversations = stages.pop("conversations", None)
    chosen: dict[str, Any] = {
        "rewriter": ShoutingRewriter(llm=EchoLLM()),
        "retriever": ListRetriever(),
        "reranker": EvenRanker(),
        "context": PlainContext(),
        "generator": QuotingGenerator(),
    }
    return Pipeline(**(chosen | stages), settings=settings, conversations=conversations)


def talk(name: str, *questions: str) -> Conversation:
    """A conversation of these questions, each answered with its own words."""
    turns = (
        Turn(f"{name}<::>{n}", q, f"gold {q}", labels={"secret": "yes"})
        for n, q in enumerate(questions, 1)
    )
    return Conversation(name, tuple(turns))


def query(text: str) -> Query:
    return Query(text, turn_id="t<::>1")


def plugin(name: str, **members: Any) -> metadata.EntryPoint:
    """An entry point to a module that is made up here; members are its contents."""
    module = ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return metadata.EntryPoint(name=name, value=name, group=plugins.GROUP)


def registering(*options: tuple[str, str, type]) -> Any:
    """A `convrag_register` hook for these options."""

    @hookimpl
    def convrag_register(register: Any) -> None:
        for option in options:
            register(*option)

    return convrag_register


STRANGE = """
from convrag import Rewriter, hookimpl

class Strange(Rewriter):
    "Gives a text, and no Rewrite."
    def rewrite(self, question):
        return question.text

@hookimpl
def convrag_register(register):
    register("rewriter", "strange", Strange)
"""
"""A plugin file: its rewriter gives a text instead of a Rewrite, so that it falls back in every
turn.
"""
