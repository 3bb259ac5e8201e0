"""Probabilities of pairs become scores of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Aggregation = Literal["sym_sum", "sym_sum_log", "copeland"]

_LEAST = 1e-12  # a probability of 0 has no logarithm


def aggregate(probabilities: NDArray[np.float64], how: Aggregation) -> NDArray[np.float64]:
    """Score n texts.

    Args:
        probabilities: (n, n); [i, j] is that of text i being more relevant than text j. The diagonal is ignored.
        how: "sym_sum": the sum over j of p[i, j] + (1 - p[j, i]); "sym_sum_log": of their logarithms; "copeland": the
            number of texts j for which they add up to more than 1, and half the number of those for which to 1.
    """
    import numpy as np

    wins, unbeaten = probabilities, 1 - probabilities.T
    if how == "sym_sum_log":
        values = np.log(np.maximum(wins, _LEAST)) + np.log(np.maximum(unbeaten, _LEAST))
    elif how == "copeland":
        margins = wins + unbeaten - 1
        values = np.where(np.abs(margins) < _LEAST, 0.5, margins > 0)
    else:
        values = wins + unbeaten
    scores: NDArray[np.float64] = np.where(np.eye(len(values), dtype=bool), 0.0, values).sum(axis=1)
    return scores
