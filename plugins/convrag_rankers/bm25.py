"""`ranker=bm25`: texts by the query's words."""

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
        k1: how slowly further occurrences of a word stop counting; above 0. Default: rank-bm25's own.
        b: how much long texts are held back, from 0 (not at all) to 1 (in proportion). Default: rank-bm25's own.

    Raises:
        ConfigError: a number lies outside of its range.
    """

    def __init__(self, *, variant: Literal["plus", "okapi"] = "plus", k1: float = 1.5, b: float = 0.75) -> None:
        if k1 <= 0 or not 0 <= b <= 1:
            raise ConfigError(f"ranker=bm25: k1={k1} must be above 0, and b={b} between 0 and 1.")
        self.variant = variant
        self.k1 = k1
        self.b = b

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Summed word weights, one for each text."""
        import numpy as np

        if not texts:
            return np.zeros(0)
        from rank_bm25 import BM25Okapi, BM25Plus

        corpus = [words(text) or [""] for text in texts]  # rank-bm25 divides by lengths
        index = (BM25Plus if self.variant == "plus" else BM25Okapi)(corpus, k1=self.k1, b=self.b)
        scores: NDArray[np.float64] = index.get_scores(words(query))
        return scores


def words(text: str) -> list[str]:
    """The words by which query and texts meet, in order."""
    return _WORD.findall(text.lower())
