"""`ranker=colbert`: texts are compared with the query token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convrag import Ranker
from convrag_neural.late_interaction import LateInteractionStage
from convrag_neural.local_model import score_distinct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False)
class ColbertRanker(LateInteractionStage, Ranker):
    """Score each text by late interaction (ColBERT): each query token counts with its best match.

    The score (MaxSim) is the sum, over the tokens of the query, of the largest product with a token
    of the text. Text and query are encoded apart, so it is faster than a cross-encoder for short
    texts, and less precise.

    Args:
        model: a folder of PyLate, sentence-transformers' MultiVectorEncoder or Stanford's ColBERT,
            which needs no network, or a name on the Hugging Face hub, which is downloaded once.
        query_length: tokens of a query that are read; None takes the model's own number, often 32.
        document_length: tokens of a text that are read; None takes the model's own number.
        batch_size: the most texts that are encoded at once: on a GPU more is faster, and needs more
            memory; on a CPU batches of long texts have fewer, some 1,000 tokens.
        device: where the model runs: cpu, cuda, cuda:1, mps, xpu; "auto" takes a GPU where there is
            one.
        dtype: the numbers that it computes with; "auto" is what the weights are kept in.

    Raises:
        ConvragError: when it is used, the model cannot be loaded.
    """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Score each text: (n,) MaxSim, at most the number of the query's tokens."""
        import numpy as np

        def score_texts(distinct: list[str]) -> NDArray[np.float64]:
            tokens = self.encode_queries([query], [1.0])
            return np.array([tokens.score(rows) for rows in self.encode_texts(distinct)])

        return score_distinct(texts, score_texts)
