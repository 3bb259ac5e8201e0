"""Selects items that are relevant and not alike: maximal marginal relevance (MMR)."""

import numpy as np
from numpy.typing import NDArray


def select_by_mmr(
    relevance: NDArray[np.floating], rows: NDArray[np.floating], count: int, lambda_: float
) -> list[int]:
    """Select at most `count` items by maximal marginal relevance.

    The method is that of Carbonell and Goldstein (SIGIR 1998). An item's score is lambda_ * its
    relevance - (1 - lambda_) * its similarity to the most similar item selected.

    Args:
        relevance: (n,) of the items, higher is better: their similarity to the query, say.
        rows: (n, d) unit or zero rows; the similarity of two items is the cosine of theirs.
        count: items to select.
        lambda_: 1 is relevance only, 0 is diversity only; the first item selected is the most
            relevant one in any case.

    Returns:
        The positions of the items in the order of selection; on a tie the first item is selected.
    """
    exact = rows.astype(np.float64)
    scores = relevance.astype(np.float64)
    weighted = lambda_ * scores
    redundancy = np.full(len(rows), -np.inf)
    selected: list[int] = []
    while len(selected) < min(count, len(rows)):
        selected.append(int(scores.argmax()))
        redundancy = np.maximum(redundancy, compute_similarities(exact, exact[selected[-1]]))
        scores = weighted - (1 - lambda_) * redundancy
        scores[selected] = -np.inf
    return selected


def compute_similarities(
    rows: NDArray[np.floating], vector: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Compute the cosines of unit rows with a unit vector: (n, d) and (d,) give (n,).

    No matrix product: BLAS may give equal rows slightly different ones.
    """
    products = rows.astype(np.float64) * vector.astype(np.float64)
    similarities: NDArray[np.float64] = products.sum(axis=1)
    return similarities
