"""Stages that break what the calls of every stage promise: threads, order, unchanged arguments and
results.
"""

import time
from functools import wraps
from typing import Any

from broken.noting import breaks
from convrag import Answer, Evidence, Rewrite
from sound import (
    SoundChunker,
    SoundClusterer,
    SoundContext,
    SoundDetector,
    SoundEmbedder,
    SoundGenerator,
    SoundLLM,
    SoundMetrics,
    SoundRanker,
    SoundRetriever,
    SoundRewriter,
    SoundSummarizer,
)


def keep_arguments(base: type, method: str) -> type:
    """Make a stage that keeps its arguments in itself, where another thread finds its own."""

    @wraps(getattr(base, method))
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.kept = args, kwargs
        args, kwargs = self.kept
        return getattr(base, method)(self, *args, **kwargs)

    name = base.__name__.replace("Sound", "Keeping")
    return type(
        name, (base,), {method: call, "__doc__": "Keeps its arguments.", "__module__": __name__}
    )


MAIN_METHODS = {
    SoundChunker: "chunk",
    SoundRewriter: "rewrite",
    SoundRetriever: "retrieve",
    SoundRanker: "score",
    SoundContext: "assemble",
    SoundGenerator: "generate",
    SoundDetector: "detect",
    SoundSummarizer: "summarize",
    SoundLLM: "complete",
    SoundEmbedder: "embed",
    SoundClusterer: "cluster",
    SoundMetrics: "measure",
}
for sound_class, main_method in MAIN_METHODS.items():
    breaks("test_threads_may_share_it")(keep_arguments(sound_class, main_method))


@breaks("test_threads_may_share_it")
class Waiting(SoundRewriter):
    """Keeps its question while it waits for an answer."""

    def rewrite(self, question: Any) -> Rewrite:
        self.last = question.text
        time.sleep(0.01)
        return Rewrite.of(self.last)


@breaks("test_threads_may_share_it")
class Following(SoundRewriter):
    """Takes the last question that it was asked for the last one of the conversation."""

    def __init__(self) -> None:
        self.last: dict[int, str] = {}

    def rewrite(self, question: Any) -> Rewrite:
        self.last[question.number] = question.text
        earlier = self.last.get(question.number - 1, "") if question.history else ""
        return Rewrite.of(f"{earlier} {question.text}")


@breaks("test_its_arguments_stay_as_they_are")
class Sorting(SoundRanker):
    """Sorts its texts, so that the scores are those of other ones."""

    def score(self, query: str, texts: Any) -> Any:
        texts.sort()
        return super().score(query, texts)


@breaks("test_its_arguments_stay_as_they_are")
class Reordering(SoundContext):
    """Sorts its hits by their passages' names."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        hits.sort(key=lambda hit: hit.passage.id)
        return super().assemble(question, hits, messages)


@breaks("test_its_arguments_stay_as_they_are")
class Labelling(SoundRewriter):
    """Writes into the history."""

    def rewrite(self, question: Any) -> Rewrite:
        for turn in question.history:
            turn.labels["asked"] = question.text
        return super().rewrite(question)


@breaks("test_its_arguments_stay_as_they_are")
class Stamping(SoundGenerator):
    """Marks the passages that it has shown."""

    def generate(self, question: Any, evidence: Any) -> Answer:
        for item in evidence.items:
            item.passage.metadata["shown"] = question.turn_id
        return super().generate(question, evidence)


@breaks("test_its_arguments_stay_as_they_are")
class Lowering(SoundEmbedder):
    """Lowers the letters of what it is given."""

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        texts[:] = [text.lower() for text in texts]
        return super().embed(texts)


@breaks("test_its_arguments_stay_as_they_are")
class Reversing(SoundClusterer):
    """Begins with the last text."""

    def cluster(self, texts: Any, embedder: Any) -> Any:
        texts.reverse()
        return super().cluster(texts, embedder)


@breaks("test_its_arguments_stay_as_they_are")
class Dropping(SoundMetrics):
    """Drops the records of turns that failed."""

    def measure(self, records: Any) -> Any:
        for record in [record for record in records if record.error]:
            records.remove(record)
        return super().measure(records)
