"""alpha-nDCG: nDCG that rewards passages for subtopics that earlier passages do not have."""

from collections import Counter
from collections.abc import Collection, Sequence
from math import log2


def compute_alpha_ndcg(
    ranking: Sequence[Collection[str]], relevant: Sequence[Collection[str]], alpha: float = 0.5
) -> float:
    """Compute alpha-nDCG of a whole ranking (Clarke et al., SIGIR 2008), from 0 to 1.

    A passage gains (1 - alpha) ^ (how many earlier passages have it) for each of its subtopics;
    gains are discounted by log2(1 + rank). The sum is divided by the ideal ranking's of all
    relevant passages, found greedily, as ndeval does. Nothing relevant gives 0.

    Args:
        ranking: the subtopics of each passage of the ranking, best first; none for one that is not
            relevant.
        relevant: the subtopics of each relevant passage.
        alpha: how much a repetition loses; 0 nothing, 1 everything.
    """
    ideal = _sum_gains(_rank_ideally(relevant, alpha), alpha)
    return _sum_gains(ranking, alpha) / ideal if ideal else 0.0


def _sum_gains(ranking: Sequence[Collection[str]], alpha: float) -> float:
    """Sum the discounted gains of a ranking."""
    seen: Counter[str] = Counter()
    total = 0.0
    for rank, subtopics in enumerate(ranking, 1):
        total += _gain(subtopics, seen, alpha) / log2(rank + 1)
        seen.update(subtopics)
    return total


def _rank_ideally(relevant: Sequence[Collection[str]], alpha: float) -> list[Collection[str]]:
    """Rank the passage with the greatest gain first, of equal ones the first, and so on."""
    seen: Counter[str] = Counter()
    remaining = list(relevant)
    ranked: list[Collection[str]] = []
    while remaining:
        best = max(remaining, key=lambda subtopics: _gain(subtopics, seen, alpha))
        remaining.remove(best)
        ranked.append(best)
        seen.update(best)
    return ranked


def _gain(subtopics: Collection[str], seen: Counter[str], alpha: float) -> float:
    """Compute the gain of a passage after others, whose subtopics are counted in `seen`."""
    return sum((1 - alpha) ** seen[subtopic] for subtopic in subtopics)
