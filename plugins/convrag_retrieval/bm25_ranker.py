"""`ranker=bm25`: texts are scored by the words that they share with the query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from convrag import ConfigError, Ranker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class BM25Ranker(Ranker):
    """Score each text by the words that it shares with the query (rank-bm25): no model, no download.

    The texts are each other's corpus: a word counts the more, the fewer of them have it. Words are runs of letters and
    digits, lower-cased.

    Args:
        variant: "plus" (Lv and Zhai 2011) gives every word a positive weight; "okapi", which the seed used, gives none
            to a word that half of the texts have, and among a few clusters that is most of the query.
        k1: saturation of term frequency: the larger, the more repeated words count; above 0. Default: rank-bm25's own.
        b: normalisation by text length, from 0 (none) to 1 (full). Default: rank-bm25's own.

    Raises:
        ConfigError: a number lies outside of its range.
    """

    libraries = ("rank-bm25",)

    def __init__(self, *, variant: Literal["plus", "okapi"] = "plus", k1: float = 1.5, b: float = 0.75) -> None:
        if k1 <= 0 or not 0 <= b <= 1:
            raise ConfigError(f"ranker=bm25: k1={k1} must be above 0, and b={b} between 0 and 1.")
        self.variant = variant
        self.k1 = k1
        self.b = b

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) BM25 scores."""
        import numpy as np

        if not texts:
            return np.zeros(0)
        from rank_bm25 import BM25Okapi, BM25Plus

        corpus = [tokenize(text) or [""] for text in texts]  # rank-bm25 divides by lengths
        index = (BM25Plus if self.variant == "plus" else BM25Okapi)(corpus, k1=self.k1, b=self.b)
        scores: NDArray[np.float64] = index.get_scores(tokenize(query))
        return scores


def tokenize(text: str) -> list[str]:
    """Split a query or a text into lower-cased words, in order."""
    return _WORD.findall(text.lower())
