"""Chains of thought: which earlier turn a turn goes on from, however long ago that was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def continued(similarities: NDArray[np.float64], chains: Sequence[int], threshold: float) -> int | None:
    """The chain that a turn continues; None where it begins one.

    Only the last link of each chain is looked at: a thought goes on from where it was left.

    Args:
        similarities: (n,) of the turn with n earlier ones, oldest first.
        chains: the chains of those n.
        threshold: the least similarity with a last link.
    """
    last = {chain: index for index, chain in enumerate(chains)}
    index = max(last.values(), key=lambda index: (similarities[index], index), default=None)
    if index is None or similarities[index] < threshold:
        return None
    return chains[index]
