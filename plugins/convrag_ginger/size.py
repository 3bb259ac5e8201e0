"""`ranker=size`: the order of GINGER's public code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convrag import Ranker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SizeRanker(Ranker):
    """Rank clusters by the number of their nuggets, whatever the query: a baseline.

    It counts lines, for the nuggets of a cluster stand one on each; among passages, those with more lines come first.
    """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """The number of lines that are not blank."""
        import numpy as np

        return np.array([sum(1 for line in text.splitlines() if line.strip()) for text in texts], dtype=np.float64)
