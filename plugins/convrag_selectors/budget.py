"""`selector=budget`: the best set of passages within so many tokens."""

from collections.abc import Sequence

from convrag import LLM, ConfigError, Hit, Question, Selection, Selector
from convrag_selectors.chosen import scale_scores, select_positions

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

    Raises:
        ConfigError: tokens is below 1.
    """

    libraries = ("numpy",)

    def __init__(self, *, llm: LLM, tokens: int = 1500) -> None:
        if tokens < 1:
            raise ConfigError(f"selector.tokens={tokens}: it must be at least 1")
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
