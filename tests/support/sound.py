"""A stage of each kind that keeps all promises, as short as can be. tests/broken/ breaks them one
by one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from convrag import (
    LLM,
    Answer,
    Chunker,
    Clusterer,
    Completion,
    Context,
    Detector,
    Document,
    Embedder,
    Evidence,
    EvidenceItem,
    Generator,
    Hit,
    Memory,
    MemoryView,
    Metrics,
    Nugget,
    Passage,
    Prompt,
    Query,
    Question,
    Ranker,
    Retriever,
    Rewrite,
    Rewriter,
    Run,
    RunSummary,
    Search,
    SearchStep,
    Selection,
    Selector,
    Summarizer,
    Task,
    Tracker,
    TurnRecord,
    hookimpl,
)
from convrag.sdk.data.document_passages import cut_passages
from convrag.testing import TinyDataset, passages


def shared(one: str, other: str) -> int:
    """How many words two texts share."""
    return len(set(one.casefold().split()) & set(other.casefold().split()))


class SoundDataset(TinyDataset):
    """The tiny one."""


class SoundChunker(Chunker):
    """Cuts at line breaks."""

    def chunk(self, document: Document) -> list[Passage]:
        spans = [found.span() for found in re.finditer(r"[^\n]*[^\s][^\n]*", document.text)]
        return list(cut_passages(document, spans))


class SoundLLM(LLM):
    """Says that it has read the prompt."""

    def complete(self, prompt: Prompt) -> Completion:
        return Completion(f"I read {len(prompt.messages[-1].content)} characters.")

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class SoundEmbedder(Embedder):
    """Counts vowels."""

    libraries = ("numpy",)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        import numpy as np

        rows = self.count(texts)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    def count(self, texts: Sequence[str]) -> Any:
        import numpy as np

        return np.array([[text.count(v) for v in "aeiou"] for text in texts], np.float32).reshape(
            len(texts), 5
        )


class SoundMemory(Memory):
    """Sees the last turn."""

    def view(self, question: Question) -> MemoryView:
        return MemoryView(question.history[-1:])


class SoundRewriter(Rewriter):
    """Adds the last question."""

    def rewrite(self, question: Question) -> Rewrite:
        return Rewrite.of(
            " ".join([question.text, *(turn.question for turn in question.history[-1:])])
        )


class SoundRetriever(Retriever):
    """Counts shared words in the sample passages."""

    def retrieve(self, queries: Sequence[Query], k: int) -> list[Hit]:
        scores = {
            p.id: float(sum(shared(query.text, p.text) for query in queries)) for p in passages()
        }
        found = sorted(
            (Hit(p, scores[p.id]) for p in passages() if scores[p.id]), key=lambda hit: -hit.score
        )
        return found[:k]


class SoundRanker(Ranker):
    """Counts shared words."""

    libraries = ("numpy",)

    def score(self, query: str, texts: Sequence[str]) -> Any:
        import numpy as np

        return np.array([shared(query, text) for text in texts], dtype=np.float64)


class SoundSearch(Search):
    """Searches once."""

    def plan(self, question: Question, steps: Sequence[SearchStep], seconds: float) -> SearchStep:
        return SearchStep(() if steps else question.queries)


class SoundSelector(Selector):
    """Takes the first."""

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        return Selection(tuple(hits[:n]))


class SoundContext(Context):
    """Shows everything."""

    def assemble(
        self, question: Question, hits: Sequence[Hit], messages: Sequence[Any]
    ) -> Evidence:
        return Evidence(
            tuple(EvidenceItem(n, hit.passage, hit.passage.text) for n, hit in enumerate(hits, 1))
        )


class SoundGenerator(Generator):
    """Quotes the first passage."""

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        first = [item.passage for item in evidence.items[:1]]
        return Answer(
            "".join(passage.text for passage in first), tuple(passage.id for passage in first)
        )


class SoundDetector(Detector):
    """Finds each word of the query."""

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        found = []
        for word in sorted(set(query.split())):
            start = passage.text.find(word)
            while start >= 0:
                found.append(Nugget(word, passage.id, start, start + len(word)))
                start = passage.text.find(word, start + len(word))
        return sorted(found, key=lambda nugget: (nugget.start, nugget.end))


class SoundClusterer(Clusterer):
    """Clusters by first letters."""

    libraries = ("numpy",)

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> Any:
        import numpy as np

        letters = [text[:1] for text in texts]
        known = list(dict.fromkeys(letters))
        return np.array([known.index(letter) for letter in letters], dtype=np.int64)


class SoundSummarizer(Summarizer):
    """Says the first nugget, as far as the words go."""

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        return " ".join(nuggets[0].text.split()[:words])


class SoundMetrics(Metrics):
    """Counts passages."""

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        return {record.turn_id: {"passages": float(len(record.hits))} for record in records}


class SoundTracker(Tracker):
    """Keeps a list."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        self.seen.append("started")

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> None:
        self.seen.append("finished")

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str) -> None:
        self.seen.append(error)


class SoundTask(Task):
    """Does nothing, well."""

    def execute(self, config: Any, folder: Path) -> int:
        return 0
