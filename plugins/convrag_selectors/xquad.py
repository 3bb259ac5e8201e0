"""`selector=xquad`: passages for several aspects of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from convrag import Clusterer, ConfigError, ConvragError, Embedder, Hit, Question, Ranker, Selection, Selector
from convrag.sdk.queries import choose_queries
from convrag_selectors.chosen import scale_scores, select_positions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DECIMALS = 9
"""Beyond these, gains differ by rounding errors: the items are equal."""


class XQuADSelector(Selector):
    """Select passages for all aspects of the question; one that is covered counts less (xQuAD).

    One after the other: the passage with the greatest lambda_ * relevance + (1 - lambda_) * the sum over the aspects
    of (the aspect's weight * the passage's relevance to it * the share of the aspect that no passage selected covers).
    Santos, Macdonald and Ounis, WWW 2010, whose aspects were a search engine's suggestions. Scores are scaled from 0
    (the lowest) to 1 (the highest). Where there is one aspect only, the first passages are selected.

    Args:
        clusterer: groups the passages; an outlier is an aspect of its own.
        embedder: for the clusterer.
        ranker: scores passages for a query, with aspects=queries.
        aspects: "clusters" are groups of the passages, each with the share of all relevance that its passages have; a
            passage is as relevant to its own cluster as to the question, and to no other. "queries" are the queries of
            the rewrite that are texts rather than words for BM25, with their weights: of use with a rewriter that gives
            several readings of a question.
        lambda_: weight of relevance against diversity, 0 to 1. Default: both alike.

    Raises:
        ConfigError: lambda_ is out of range.
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        clusterer: Clusterer,
        embedder: Embedder,
        ranker: Ranker,
        aspects: Literal["clusters", "queries"] = "clusters",
        lambda_: float = 0.5,
    ) -> None:
        if not 0 <= lambda_ <= 1:
            raise ConfigError(f"selector.lambda_={lambda_}: between 0 (diversity only) and 1 (relevance only)")
        self.clusterer = clusterer
        self.embedder = embedder
        self.ranker = ranker
        self.aspects = aspects
        self.lambda_ = lambda_

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """At most n hits, in the order of their selection; of equal ones the first."""
        import numpy as np

        if not hits or n < 1:
            return Selection(())
        relevance = np.array(scale_scores([hit.score for hit in hits]))
        texts = [hit.passage.content for hit in hits]
        by_queries = self.aspects == "queries"
        covers, weights, trace = (
            self._score_for_queries(question, texts) if by_queries else self._group(relevance, texts)
        )
        if len(weights) < 2:
            return select_positions(hits, range(min(n, len(hits))), trace)
        return select_positions(hits, select_by_xquad(relevance, covers, weights, n, self.lambda_), trace)

    def _group(
        self, relevance: NDArray[np.float64], texts: list[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, object]]:
        """The relevance of each passage to each cluster, the clusters' weights, and what the trace says of them."""
        import numpy as np

        labels = np.asarray(self.clusterer.cluster(texts, self.embedder))
        if len(labels) != len(texts):
            raise ConvragError(f"{type(self.clusterer).__name__} gave {len(labels)} labels for {len(texts)} texts")
        groups = np.where(labels < 0, labels.max() + 1 + np.arange(len(labels)), labels)
        distinct = np.unique(groups)
        covers = np.where(groups[:, None] == distinct, relevance[:, None], 0.0)
        return covers, covers.sum(axis=0) / relevance.sum(), {"clusters": labels.tolist()}

    def _score_for_queries(
        self, question: Question, texts: list[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, object]]:
        """The relevance of each passage to each query of the rewrite, the queries' weights, and their texts."""
        import numpy as np

        weights: dict[str, float] = {}
        for query in choose_queries(question.queries, "dense"):
            if query.weight > 0:
                weights[query.text] = max(query.weight, weights.get(query.text, 0.0))
        columns = [scale_scores(self.ranker.score(text, texts).tolist()) for text in weights]
        given = np.array(list(weights.values()))
        covers = np.array(columns, dtype=np.float64).reshape(len(weights), len(texts)).T
        return covers, given / max(given.sum(), 1e-300), {"aspects": list(weights)}


def select_by_xquad(
    relevance: NDArray[np.float64],
    covers: NDArray[np.float64],
    weights: NDArray[np.float64],
    count: int,
    lambda_: float,
) -> list[int]:
    """Select at most `count` items by explicit query aspect diversification (Santos et al. 2010).

    Args:
        relevance: (n,) of the items to the query, 0 to 1.
        covers: (n, m) relevance of the items to the aspects, 0 to 1.
        weights: (m,) of the aspects; their sum is 1.
        count: items to select.
        lambda_: weight of relevance; 1 is relevance only. (In the paper, lambda is the weight of diversity.)

    Returns:
        The positions of the items in the order of selection; on a tie the first item is selected.
    """
    import numpy as np

    uncovered = np.ones(len(weights))
    selected: list[int] = []
    while len(selected) < min(count, len(relevance)):
        gains = lambda_ * relevance + (1 - lambda_) * (covers * (weights * uncovered)).sum(axis=1)
        gains = gains.round(_DECIMALS)
        gains[selected] = -np.inf
        selected.append(int(gains.argmax()))
        uncovered = uncovered * (1 - covers[selected[-1]])
    return selected
