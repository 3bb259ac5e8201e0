"""`selector=mmr`: passages that are relevant and not alike."""

from collections.abc import Sequence
from typing import Literal

from convrag import ConfigError, Embedder, Hit, Question, Selection, Selector
from convrag_selectors.chosen import scale_scores, select_positions


class MMRSelector(Selector):
    """Select passages that are relevant and not alike, by maximal marginal relevance (MMR).

    One after the other: the passage with the greatest lambda_ * relevance - (1 - lambda_) * similarity to the most
    similar passage selected. The first is the most relevant one. Carbonell and Goldstein, SIGIR 1998.

    Args:
        embedder: passages are similar as their embeddings are (cosine).
        lambda_: weight of relevance against diversity, 0 to 1. 1 takes the first n passages where relevance=scores.
            Default: as in rewriter=mmr.
        relevance: "scores" are those that ranked the passages, scaled from 0 (the lowest) to 1 (the highest), so that
            what a reranker knows counts; "embedder" is the similarity of the passage to the rewritten question, on the
            same scale as that of two passages (as in the paper).

    Raises:
        ConfigError: lambda_ is out of range.
    """

    libraries = ("numpy",)

    def __init__(
        self, *, embedder: Embedder, lambda_: float = 0.7, relevance: Literal["scores", "embedder"] = "scores"
    ) -> None:
        if not 0 <= lambda_ <= 1:
            raise ConfigError(f"selector.lambda_={lambda_}: between 0 (diversity only) and 1 (relevance only)")
        self.embedder = embedder
        self.lambda_ = lambda_
        self.relevance = relevance

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """At most n hits, in the order of their selection; of equal ones the first."""
        import numpy as np

        from convrag.sdk.diversity import compute_similarities, select_by_mmr

        if not hits or n < 1:
            return Selection(())
        rows = self.embedder.embed([hit.passage.content for hit in hits])
        if self.relevance == "embedder":
            query = self.embedder.embed([question.standalone or question.text], query=True)[0]
            relevance = compute_similarities(rows, query)
        else:
            relevance = np.array(scale_scores([hit.score for hit in hits]))
        return select_positions(hits, select_by_mmr(relevance, rows, n, self.lambda_), {})
