"""Selectors: passages that are not alike, for several aspects of the question, as many as needed, within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import LLM, Clusterer, ConfigError, Embedder, Hit, Question, Ranker, Selection, Selector
from convrag.sdk.queries import choose_queries
from convrag.sdk.vectors import cluster_texts, separate_outliers
from convrag.sdk.words import find_content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def scale_scores(scores: Sequence[float]) -> list[float]:
    """Scale scores to reach from 0, the lowest, to 1, the highest; where all are equal, they become 1.

    So scores of any kind (BM25, cosines, logits below 0) are shares of the best one.
    """
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def select_positions(
    hits: Sequence[Hit], positions: Sequence[int], trace: Mapping[str, Any], *, fallback: str = ""
) -> Selection:
    """Select the hits at positions (from 0), in their order; the trace also has their ranks (from 1)."""
    ranks = [position + 1 for position in positions]
    return Selection(tuple(hits[position] for position in positions), {"ranks": ranks, **trace}, fallback)


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
            same scale as two passages' (as in the paper).
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        embedder: Embedder,
        lambda_: Annotated[float, Interval(ge=0, le=1)] = 0.7,
        relevance: Literal["scores", "embedder"] = "scores",
    ) -> None:
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
    """

    libraries = ("numpy",)

    def __init__(
        self,
        *,
        clusterer: Clusterer,
        embedder: Embedder,
        ranker: Ranker,
        aspects: Literal["clusters", "queries"] = "clusters",
        lambda_: Annotated[float, Interval(ge=0, le=1)] = 0.5,
    ) -> None:
        self.clusterer = clusterer
        self.embedder = embedder
        self.ranker = ranker
        self.aspects = aspects
        self.lambda_ = lambda_

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """The ranker for queries, the clusterer for clusters, and the embedder where the clusterer asks it."""
        by_queries = parameters["aspects"] == "queries"
        if name == "embedder":
            return bool(not by_queries and parameters["clusterer"].uses_embedder)
        return bool(by_queries == (name == "ranker"))

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

        labels = cluster_texts(self.clusterer, texts, self.embedder)
        groups = np.array(separate_outliers(labels))
        distinct = np.unique(groups)
        covers = np.where(groups[:, None] == distinct, relevance[:, None], 0.0)
        return covers, covers.sum(axis=0) / relevance.sum(), {"clusters": labels}

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


class DynamicSelector(Selector):
    """Select as many passages as the question needs: down to the first that neither scores well nor adds a facet.

    From the first passage on, one is kept if its score is at least `share` of the first one's, or if it has a facet of
    the question that none before it has; the first that does neither ends the evidence. Scores count from that of the
    last passage found, so top_k must be larger than top_n. The facets are the content words of the rewritten question,
    as English stems. The trace has the reason ("kept 3: passage 4 scores 0.41 of the first, and no facet is left"), and
    the facets that no passage kept has.

    Args:
        minimum: passages that are kept in any case.
        maximum: passages that are kept at most; null takes top_n.
        share: of the first passage's score; 1 keeps passages for their facets alone. Default: half.

    Raises:
        ConfigError: maximum is below minimum.
    """

    libraries = ("PyStemmer",)

    def __init__(
        self,
        *,
        minimum: Annotated[int, Ge(1)] = 1,
        maximum: int | None = None,
        share: Annotated[float, Interval(ge=0, le=1)] = 0.5,
    ) -> None:
        if maximum is not None and maximum < minimum:
            raise ConfigError(f"selector.maximum={maximum}: it must be at least selector.minimum={minimum}")
        self.minimum = minimum
        self.maximum = maximum
        self.share = share

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Between `minimum` and `maximum` hits (n, where there is no maximum), in their order."""
        if n < 1:
            return Selection(())
        most = n if self.maximum is None else self.maximum
        shares = scale_scores([hit.score for hit in hits])
        left = find_facets(question.standalone or question.text)
        kept = 0
        for hit, score in zip(hits[:most], shares, strict=False):
            found = left.keys() & find_facets(hit.passage.content).keys() if left else ()
            if kept >= self.minimum and score < self.share and not found:
                break
            kept += 1
            left = {stem: word for stem, word in left.items() if stem not in found}
        missing = list(left.values())
        trace = {"reason": _explain(kept, most, shares, missing), "missing_facets": missing}
        return select_positions(hits, range(kept), trace)


def find_facets(text: str) -> dict[str, str]:
    """The facets of a text: the stems of its content words -> the words, in order."""
    facets: dict[str, str] = {}
    for word in find_content_words(text):
        facets.setdefault(word.stem, word.text)
    return facets


def _explain(kept: int, most: int, shares: Sequence[float], missing: Sequence[str]) -> str:
    """Why so many passages were kept."""
    if kept >= most:
        return f"kept {kept}: no more are wanted"
    if kept == len(shares):
        return f"kept {kept}: no more were found"
    facets = f"does not have {' or '.join(map(repr, missing))}" if missing else "no facet is left"
    return f"kept {kept}: passage {kept + 1} scores {shares[kept]:.2f} of the first, and {facets}"


_UNITS = 1_000_000
"""A score of 1 in whole numbers, whose sums are exact: equal sets are equal."""


class BudgetSelector(Selector):
    """Select the set of passages with the greatest sum of scores within a number of tokens.

    The exact solution of the 0/1 knapsack problem, by dynamic programming. Scores are scaled from 0 (the lowest) to 1
    (the highest). The budget is the limit in place of top_n. No passage is cut: one that is longer than the budget is
    passed over. Where none fits, the first one is selected, and the record says so (a fallback).

    Args:
        llm: counts the tokens of a passage with its title, as context=full shows it.
        tokens: of all selected passages together.
    """

    libraries = ("numpy",)

    def __init__(self, *, llm: LLM, tokens: Annotated[int, Ge(1)] = 1500) -> None:
        self.llm = llm
        self.tokens = tokens

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """The best set of hits, in their order; of equally good sets, the one with the first hits."""
        if not hits or n < 1:
            return Selection(())
        sizes = [self.llm.count_tokens(hit.passage.content) for hit in hits]
        values = [round(score * _UNITS) for score in scale_scores([hit.score for hit in hits])]
        chosen = fill_knapsack(values, sizes, self.tokens)
        fallback = ""
        if not chosen:
            chosen = [0]
            fallback = f"no passage fits into {self.tokens} tokens; the first has {sizes[0]}"
        trace = {"tokens": sum(sizes[position] for position in chosen), "too_long": sum(s > self.tokens for s in sizes)}
        return select_positions(hits, chosen, trace, fallback=fallback)


def fill_knapsack(values: Sequence[int], sizes: Sequence[int], room: int) -> list[int]:
    """Choose the items with the greatest sum of values whose sizes fit into a room (the 0/1 knapsack problem).

    Bellman's dynamic programming: n * room steps, and so many bytes.

    Args:
        values: of n items, whole numbers from 0.
        sizes: of the items, whole numbers from 0.
        room: the greatest sum of sizes.

    Returns:
        The positions of the items in rising order. Of several best sets, that with the first item in which they differ.
    """
    import numpy as np

    room = min(room, sum(sizes))
    best = np.zeros(room + 1, dtype=np.int64)  # best[r]: the value of the items seen so far within the room r
    takes = np.zeros((len(sizes), room + 1), dtype=bool)
    for position in reversed(range(len(sizes))):
        size = sizes[position]
        if size <= room:
            with_it = best[: room + 1 - size] + values[position]
            takes[position, size:] = with_it >= best[size:]
            best[size:] = np.maximum(best[size:], with_it)
    chosen = []
    for position, size in enumerate(sizes):
        if takes[position, room]:
            chosen.append(position)
            room -= size
    return chosen
