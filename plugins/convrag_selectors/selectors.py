"""Selectors: passages that are not alike, as many as needed, within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Interval

from convrag import LLM, ConfigError, Embedder, Hit, Question, Selection, Selector
from convrag.sdk.text.analysis import find_content_words


def scale_scores(scores: Sequence[float]) -> list[float]:
    """Scale scores to reach from 0, the lowest, to 1, the highest; equal scores all become 1.

    So scores of any kind (BM25, cosines, logits below 0) are shares of the best one.
    """
    if not scores:
        return []
    lowest = min(scores)
    highest = max(scores)
    if highest > lowest:
        return [(score - lowest) / (highest - lowest) for score in scores]
    return [1.0] * len(scores)


def select_positions(
    hits: Sequence[Hit], positions: Sequence[int], trace: Mapping[str, Any], *, fallback: str = ""
) -> Selection:
    """Select the hits at positions (from 0), in their order.

    The trace also has their ranks (from 1).
    """
    selected = tuple(hits[position] for position in positions)
    ranks = [position + 1 for position in positions]
    return Selection(selected, {"ranks": ranks, **trace}, fallback)


@dataclass(kw_only=True, eq=False)
class MMRSelector(Selector):
    """Select passages that are relevant and not alike, by maximal marginal relevance (MMR).

    One after the other: the passage with the greatest lambda_ * relevance - (1 - lambda_) *
    similarity to the most similar passage selected. The first is the most relevant one. Carbonell
    and Goldstein, SIGIR 1998.

    Args:
        embedder: passages are similar as their embeddings are (cosine).
        lambda_: weight of relevance against diversity, 0 to 1. 1 takes the first n passages where
            relevance=scores. Default: as in rewriter=mmr.
        relevance: "scores" are the scores that ranked the passages, scaled from 0 (the lowest) to 1
            (the highest), so that a reranker's count; "embedder" is the similarity of the passage
            to the rewritten question, on the same scale as two passages' (as in the paper).
    """

    libraries = ("numpy",)

    embedder: Embedder
    lambda_: Annotated[float, Interval(ge=0, le=1)] = 0.7
    relevance: Literal["scores", "embedder"] = "scores"

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Select at most n hits, in the order of their selection; the first one wins a tie."""
        import numpy as np

        from convrag.sdk.search.diversity import compute_similarities, select_by_mmr

        if not hits or n < 1:
            return Selection(())
        rows = self.embedder.embed([hit.passage.content for hit in hits])
        if self.relevance == "embedder":
            query = self.embedder.embed([question.standalone or question.text], query=True)[0]
            relevance = compute_similarities(rows, query)
        else:
            relevance = np.array(scale_scores([hit.score for hit in hits]))
        return select_positions(hits, select_by_mmr(relevance, rows, n, self.lambda_), {})


@dataclass(kw_only=True, eq=False)
class DynamicSelector(Selector):
    """Select as many passages as the question needs, by their scores and the facets they add.

    From the first passage on, one is kept if its score is at least `share` of the first one's, or
    if it has a facet of the question that none before it has; the first that does neither ends the
    evidence. Scores count from that of the last passage found, so top_k must be larger than top_n.
    The facets are the content words of the rewritten question, as English stems. The trace has the
    reason ("kept 3: passage 4 scores 0.41 of the first, and no facet is left"), and the facets that
    no passage kept has.

    Args:
        minimum: passages that are kept in any case.
        maximum: passages that are kept at most; null takes top_n.
        share: of the first passage's score; 1 keeps passages for their facets alone.

    Raises:
        ConfigError: maximum is below minimum.
    """

    libraries = ("PyStemmer",)

    minimum: Annotated[int, Ge(1)] = 1
    maximum: int | None = None
    share: Annotated[float, Interval(ge=0, le=1)] = 0.5

    def __post_init__(self) -> None:
        if self.maximum is not None and self.maximum < self.minimum:
            raise ConfigError(
                f"selector.maximum={self.maximum}: it must be at least "
                f"selector.minimum={self.minimum}"
            )

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Select between `minimum` and `maximum` hits (n without a maximum), in their order."""
        if n < 1:
            return Selection(())
        most = n if self.maximum is None else self.maximum
        shares = scale_scores([hit.score for hit in hits])
        left = find_facets(question.standalone or question.text)
        kept = 0
        for hit, score in zip(hits[:most], shares, strict=False):
            facets = find_facets(hit.passage.content) if left else {}
            adds_facet = not left.keys().isdisjoint(facets)
            if kept >= self.minimum and score < self.share and not adds_facet:
                break
            kept += 1
            left = {stem: word for stem, word in left.items() if stem not in facets}
        missing = list(left.values())
        trace = {"reason": _explain(kept, most, shares, missing), "missing_facets": missing}
        return select_positions(hits, range(kept), trace)


def find_facets(text: str) -> dict[str, str]:
    """Find the facets of a text: the stems of its content words -> the words, in order."""
    facets: dict[str, str] = {}
    for word in find_content_words(text):
        facets.setdefault(word.stem, word.text)
    return facets


def _explain(kept: int, most: int, shares: Sequence[float], missing: Sequence[str]) -> str:
    """Explain the number of passages."""
    if kept >= most:
        return f"kept {kept}: no more are wanted"
    if kept == len(shares):
        return f"kept {kept}: no more were found"
    facets = "no facet is left"
    if missing:
        words = " or ".join(repr(word) for word in missing)
        facets = f"does not have {words}"
    return f"kept {kept}: passage {kept + 1} scores {shares[kept]:.2f} of the first, and {facets}"


_UNITS = 1_000_000
"""A score of 1 as a whole number: sums of whole numbers are exact, so that equal sets tie."""


@dataclass(kw_only=True, eq=False)
class BudgetSelector(Selector):
    """Select the set of passages with the greatest sum of scores within a number of tokens.

    The exact solution of the 0/1 knapsack problem, by dynamic programming. Scores are scaled from 0
    (the lowest) to 1 (the highest). The budget is the limit in place of top_n. No passage is cut:
    one that is longer than the budget is passed over. Where none fits, the first one is selected,
    and the record says so (a fallback).

    Args:
        llm: counts the tokens of a passage with its title, as context=full shows it.
        tokens: of all selected passages together.
    """

    libraries = ("numpy",)

    llm: LLM
    tokens: Annotated[int, Ge(1)] = 1500

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Select the best set of hits, in their order; the one with the first hits wins a tie."""
        if not hits or n < 1:
            return Selection(())
        sizes = [self.llm.count_tokens(hit.passage.content) for hit in hits]
        values = [round(score * _UNITS) for score in scale_scores([hit.score for hit in hits])]
        chosen = fill_knapsack(values, sizes, self.tokens)
        fallback = ""
        if not chosen:
            chosen = [0]
            fallback = f"no passage fits into {self.tokens} tokens; the first has {sizes[0]}"
        trace = {
            "tokens": sum(sizes[position] for position in chosen),
            "too_long": len([size for size in sizes if size > self.tokens]),
        }
        return select_positions(hits, chosen, trace, fallback=fallback)


def fill_knapsack(values: Sequence[int], sizes: Sequence[int], room: int) -> list[int]:
    """Choose the items with the greatest sum of values whose sizes fit into a room (the 0/1
    knapsack problem).

    Bellman's dynamic programming: n * room steps, and so many bytes.

    Args:
        values: of n items, whole numbers from 0.
        sizes: of the items, whole numbers from 0.
        room: the greatest sum of sizes.

    Returns:
        The positions of the items in rising order. Of several best sets, the one with the first
        item in which they differ.
    """
    import numpy as np

    room = min(room, sum(sizes))
    # best[r] is the value of the items seen so far within the room r
    best = np.zeros(room + 1, dtype=np.int64)
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
