"""The options `none` of generator, ranker, clusterer and tracker: the stage does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import Answer, Clusterer, Embedder, Evidence, Generator, Question, Ranker, Tracker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class NoGenerator(Generator):
    """Generate no answer: for experiments that end with retrieval."""

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """An empty answer; its trace says so, since metrics leave it out."""
        return Answer("", trace={"outcome": "no generator"})


class NoRanker(Ranker):
    """Keep the order: all scores are 0."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Zeros, shape (texts,)."""
        import numpy as np

        return np.zeros(len(texts), dtype=np.float64)


class NoClusterer(Clusterer):
    """Put each text into a cluster of its own."""

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """The labels 0 to n - 1 for n texts."""
        import numpy as np

        return np.arange(len(texts), dtype=np.int64)


class NoTracker(Tracker):
    """Track no runs: only the files that each run writes are kept."""
