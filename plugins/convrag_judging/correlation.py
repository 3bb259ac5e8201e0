"""Rank correlations of two lists of scores: Spearman's, with an interval, and Kendall's tau-b."""

from collections.abc import Sequence

RESAMPLES = 1000
LEAST = 5
"""The least number of conversations for an interval."""


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Compute Spearman's rank correlation; None where all values of one side are equal."""
    import numpy as np
    from scipy.stats import rankdata

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def spearman_interval(
    first: Sequence[float], second: Sequence[float], conversations: Sequence[str]
) -> tuple[float, float] | None:
    """Estimate the 95 % interval of `spearman` by a bootstrap that draws conversations.

    It is None with fewer than five conversations, or where all values of one side are equal.

    Args:
        first: the scores of one side.
        second: the scores of the other side, in the same order.
        conversations: the conversation of each score.
    """
    import numpy as np

    places_by_name: dict[str, list[int]] = {}
    for place, name in enumerate(conversations):
        places_by_name.setdefault(name, []).append(place)
    groups = list(places_by_name.values())
    if len(groups) < LEAST or spearman(first, second) is None:
        return None
    generator = np.random.default_rng(0)
    values = []
    for draw in generator.integers(len(groups), size=(RESAMPLES, len(groups))):
        places = [place for group in draw for place in groups[group]]
        value = spearman([first[place] for place in places], [second[place] for place in places])
        if value is not None:
            values.append(value)
    if not values:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def kendall_tau_b(
    first: Sequence[float], second: Sequence[float]
) -> tuple[float | None, float | None]:
    """Compute Kendall's tau-b and its two-sided p-value.

    Both are None where all values of one side are equal.
    """
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None, None
    result = kendalltau(first, second, variant="b")
    return float(result.statistic), float(result.pvalue)
