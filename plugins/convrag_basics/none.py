"""The options `none`, which do nothing: generator, ranker, clusterer and tracker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import (
    Answer,
    Clusterer,
    Embedder,
    Evidence,
    Generator,
    Question,
    Ranker,
    Report,
    Run,
    RunSummary,
    Tracker,
    hookimpl,
)
from convrag.sdk.types import Sweep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_NOT_LOGGED = "Not logged to MLflow (tracker=none). The same command without tracker=none logs"


class NoGenerator(Generator):
    """Generate no answer: for experiments that end with retrieval."""

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Return an empty answer, marked in its trace so that metrics skip it."""
        return Answer("", trace={"outcome": "no generator"})


class NoRanker(Ranker):
    """Keep the order: all scores are 0."""

    libraries = ("numpy",)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return zeros, shape (texts,)."""
        import numpy as np

        return np.zeros(len(texts), dtype=np.float64)


class NoClusterer(Clusterer):
    """Put each text into a cluster of its own."""

    libraries = ("numpy",)
    uses_embedder = False

    def cluster(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.int64]:
        """Return the labels 0 to n - 1 for n texts."""
        import numpy as np

        return np.arange(len(texts), dtype=np.int64)


class NoTracker(Tracker):
    """Track no runs: only the files that each run writes are kept."""

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Say that the run is not logged, and how to log it."""
        return None if run.sweep else f"{_NOT_LOGGED} the run, from what is remembered."

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> str:
        """Say that the grid is not logged, and how to log it."""
        return f"{_NOT_LOGGED} the grid, and runs no finished cell again."
