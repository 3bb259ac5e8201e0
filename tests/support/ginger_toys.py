"""Toy stages for GINGER: each does one thing that can be seen."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from convrag import LLM, Clusterer, Detector, Embedder, LLMError, Ranker, Summarizer
from convrag.api.answers import Answer
from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Question
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Nugget, Passage
from convrag.sdk.text.sentences import find_sentence_spans
from convrag_ginger.generator import GingerGenerator
from convrag_ginger.llm_detector import LlmDetector
from convrag_ginger.summarizer import LlmSummarizer
from toys import Says as Fixed


class Broken(Fixed):
    def __init__(self) -> None:
        super().__init__(LLMError("down"))


class Rules(Fixed):
    """It works by rules, and is not a language model."""

    tasks = frozenset(["answer", "summarize"])


class All(Detector):
    """Every sentence is a nugget."""

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        return [
            Nugget(passage.text[a:b], passage.id, a, b)
            for a, b in find_sentence_spans(passage.text)
        ]


class Subjects(Clusterer):
    """Clusters by the first word; "Odd" is an outlier."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> Any:
        self.asked.append(list(texts))
        firsts = list(dict.fromkeys(text.split()[0] for text in texts))
        return np.array(
            [-1 if text.startswith("Odd") else firsts.index(text.split()[0]) for text in texts]
        )


class Letters(Embedder):
    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        rows = np.array(
            [[text.lower().count(chr(c)) for c in range(97, 123)] for text in texts],
            dtype=np.float32,
        )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


class Scores(Ranker):
    """Scores by a function of the text; keeps what it was asked."""

    def __init__(self, score: Callable[[str], float] = lambda text: 0.0) -> None:
        self.of = score
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        return np.array([self.of(text) for text in texts], dtype=np.float64)


class First(Summarizer):
    """Quotes the first nugget."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str], int]] = []

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        self.asked.append((query, [nugget.text for nugget in nuggets], words))
        return nuggets[0].text


class Says(Summarizer):
    def __init__(self, text: str) -> None:
        self.text = text

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        return self.text


def said(text: str) -> LlmSummarizer:
    return LlmSummarizer(llm=Fixed(text))


def ginger(**given: Any) -> GingerGenerator:
    stages: dict[str, Any] = {
        "llm": Fixed(""),
        "detector": All(),
        "clusterer": Subjects(),
        "embedder": Letters(),
        "ranker": Scores(),
        "summarizer": First(),
    }
    return GingerGenerator(**(stages | given))


def evidence(*texts: str, first: int = 1) -> Evidence:
    items = [
        EvidenceItem(number, Passage(f"p{number}", text), text)
        for number, text in enumerate(texts, start=first)
    ]
    return Evidence(tuple(items))


def answer(generator: GingerGenerator, *texts: str, first: int = 1) -> Answer:
    return generator.generate(
        Question("And that?", standalone="Who drinks what?"), evidence(*texts, first=first)
    )


TEA = "Ann drinks green tea. Ann grows mint. Ann sells cups."

COFFEE = "Bob roasts coffee. Bob drinks milk."

NAMES = "The members of the band are Ann, Bob, Carl, Dora, Emil, Fritz and Greta of Ulm."
ODD = "Odd is a name. Odd was a king."
KETTLE = "A kettle whistles because steam is forced through its lid. It was patented in 1890."


class Scripted(LLM):
    """Replies as a function of the passage says; a token is a word."""

    def __init__(self, reply: Callable[[str], str]) -> None:
        self.reply = reply
        self.passages: list[str] = []

    def complete(self, prompt: Prompt) -> Completion:
        assert prompt.task == "nuggets"
        assert prompt.inputs["passage"] in prompt.messages[-1].content
        self.passages.append(prompt.inputs["passage"])
        return Completion(self.reply(prompt.inputs["passage"]))

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def mark(*pieces: str) -> Callable[[str], str]:
    """A model that copies and tags these pieces."""

    def reply(passage: str) -> str:
        for piece in pieces:
            passage = passage.replace(piece, f"<IN>{piece}</IN>", 1)
        return passage

    return reply


def detect(reply: str, text: str = KETTLE, **parameters: Any) -> list[Nugget]:
    """The nuggets of a text, tagged by a model with this reply."""
    return LlmDetector(llm=Scripted(lambda _: reply), **parameters).detect(
        "Why?", Passage("p", text)
    )
