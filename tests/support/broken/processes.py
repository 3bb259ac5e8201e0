"""Stages whose results another process, or the store, does not give again."""

import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from broken.noting import breaks
from convrag import Hit, Nugget, Rewrite
from sound import SoundDetector, SoundRanker, SoundRetriever, SoundRewriter, SoundSummarizer


@breaks("test_a_new_process_gives_the_same")
class Hashing(SoundRanker):
    """Scores by hash()."""

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) + [hash(text) % 7 for text in texts]


@breaks("test_a_new_process_gives_the_same")
class Unordered(SoundRewriter):
    """Takes words out of a set as they come."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(" ".join(set(question.text.split())))


STARTED = time.time()


@breaks("test_a_new_process_gives_the_same")
class Dated(SoundSummarizer):
    """Says when Python was started."""

    def summarize(self, query: str, nuggets: Any, words: int) -> str:
        return f"{STARTED}: {super().summarize(query, nuggets, words - 1)}"


@dataclass(frozen=True, slots=True)
class Judged(Nugget):
    """A nugget with more than the interface has."""

    judgement: str = ""


@breaks("test_what_is_remembered_comes_back_equal")
class Judging(SoundDetector):
    """Returns more than the interface has."""

    def detect(self, query: str, passage: Any) -> list[Nugget]:
        return [
            Judged(n.text, n.passage_id, n.start, n.end, "vital")
            for n in super().detect(query, passage)
        ]


@breaks("test_what_is_remembered_comes_back_equal")
class Objects(SoundRetriever):
    """Puts an object of its own into the metadata of passages."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        found = super().retrieve(queries, k)
        return [
            replace(hit, passage=replace(hit.passage, metadata={"from": SimpleNamespace(n=1)}))
            for hit in found
        ]
