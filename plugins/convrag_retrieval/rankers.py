"""`ranker=bm25` and `ranker=embedding`: texts are scored by common words, or by vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Gt, Interval

from convrag import Embedder, Ranker
from convrag.sdk.text.analysis import Analysis, stem_content_words, tell_language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class BM25Ranker(Ranker):
    """Score each text by the words that it shares with the query (rank-bm25), without a model.

    The texts are each other's corpus: a word counts the more, the fewer of them have it.

    Args:
        words: "auto" compares stems, in the language of the texts (`convrag.sdk.text.analysis`);
            "plain" runs of two letters or digits (ranker=bm25_okapi).
        variant: "plus" (Lv and Zhai 2011) gives every word a positive weight; "okapi", which the
            seed used, gives none to a word that half of the texts have, and among a few clusters
            that is most of the query.
        k1: saturation of term frequency: the larger, the more repeated words count; above 0.
            Default: rank-bm25's own.
        b: normalisation by text length, from 0 (none) to 1 (full). Default: rank-bm25's own.
    """

    libraries = ("numpy", "rank-bm25", "PyStemmer")

    words: Literal["auto", "plain"] = "auto"
    variant: Literal["plus", "okapi"] = "plus"
    k1: Annotated[float, Gt(0)] = 1.5
    b: Annotated[float, Interval(ge=0, le=1)] = 0.75

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) BM25 scores."""
        import numpy as np

        if not texts:
            return np.zeros(0)
        from rank_bm25 import BM25Okapi, BM25Plus

        split: Callable[[str], Sequence[str]] = Analysis.choose("plain", stop_words="none").split
        if self.words == "auto":
            split = partial(
                stem_content_words,
                stop_words=frozenset(),
                language=tell_language(" ".join([query, *texts])),
            )
        corpus = [split(text) or [""] for text in texts]  # rank-bm25 divides by lengths
        index = (BM25Plus if self.variant == "plus" else BM25Okapi)(corpus, k1=self.k1, b=self.b)
        scores: NDArray[np.float64] = index.get_scores(split(query))
        return scores


class EmbeddingRanker(Ranker):
    """Score each text by its similarity to the query, with any embedder; the score is the cosine.

    Args:
        embedder: makes the vectors.
    """

    libraries = ("numpy",)

    def __init__(self, *, embedder: Embedder) -> None:
        self.embedder = embedder

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) cosines; 0 for a text in which the embedder knows nothing."""
        import numpy as np

        if not texts:
            return np.zeros(0)
        vector = self.embedder.embed([query], query=True)[0].astype(np.float64)
        rows = self.embedder.embed(texts).astype(np.float64)
        # unlike a matrix product, this sum is the same for equal rows
        scores: NDArray[np.float64] = (rows * vector).sum(axis=1)
        return scores
