"""Retrievers and rankers that break a promise of theirs."""

from typing import Any

from broken.noting import ascii_only, breaks
from convrag import Hit, Query
from sound import SoundRanker, SoundRetriever


@breaks("test_its_results_are_right")
class WorstFirst(SoundRetriever):
    """Puts the best last."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return super().retrieve(queries, k)[::-1]


@breaks("test_its_results_are_right")
class Repeating(SoundRetriever):
    """Finds each passage twice."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return [hit for hit in super().retrieve(queries, k) for _ in range(2)][:k]


@breaks("test_its_results_are_right")
class AtLeastOne(SoundRetriever):
    """Finds something in any case."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return super().retrieve(queries, max(k, 1))


@breaks("test_its_results_are_right")
class AsciiRetriever(SoundRetriever):
    """Knows one alphabet."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return super().retrieve([Query(ascii_only(query.text)) for query in queries], k)


@breaks("test_its_results_are_right")
class NeverEmpty(SoundRanker):
    """Expects a first text."""

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query + texts[0][:0], texts)


@breaks("test_its_results_are_right")
class PerWord(SoundRanker):
    """Divides by the number of words."""

    def score(self, query: str, texts: Any) -> Any:
        scores = super().score(query, texts)
        return scores + [float("nan") if not text.split() else 0.0 for text in texts]


@breaks("test_equal_texts_get_equal_scores")
class ByPosition(SoundRanker):
    """Prefers what comes first."""

    def score(self, query: str, texts: Any) -> Any:
        return super().score(query, texts) - [0.1 * n for n in range(len(texts))]
